package fakenode

import (
	"encoding/json"
	"net/http"
)

// State counts pods.
type State struct {
	Held    bool `json:"held"`
	Pods    int  `json:"pods"`
	Bound   int  `json:"bound"`
	Running int  `json:"running"`
	Ended   int  `json:"ended"`
	Queue   int  `json:"queue"` // pods of all namespaces that something is to be done about
}

// Control is the kubelet's interface for those who measure:
//
//	GET  /state?namespace=NAME  the counts, of all namespaces without one
//	POST /hold                  no pod starts from now on
//	POST /release               they do
//	POST /end?namespace=NAME    the launchers there end with success as soon as they run
func (kubelet *Kubelet) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Content-Type", plainJSON)
		_ = json.NewEncoder(answer).Encode(kubelet.state(request.URL.Query().Get("namespace")))
	})
	order := func(path string, change func(request *http.Request)) {
		mux.HandleFunc("POST "+path, func(answer http.ResponseWriter, request *http.Request) {
			kubelet.mutex.Lock()
			defer kubelet.mutex.Unlock()
			change(request)
			kubelet.considerAll()
			answer.WriteHeader(http.StatusNoContent)
		})
	}
	order("/hold", func(*http.Request) { kubelet.held = true })
	order("/release", func(*http.Request) { kubelet.held = false })
	order("/end", func(request *http.Request) { kubelet.ending[request.URL.Query().Get("namespace")] = true })
	return mux
}

func (kubelet *Kubelet) state(namespace string) State {
	kubelet.mutex.Lock()
	defer kubelet.mutex.Unlock()
	counts := State{Held: kubelet.held, Queue: len(kubelet.queue)}
	for _, known := range kubelet.pods {
		if namespace != "" && known.pod.Metadata.Namespace != namespace {
			continue
		}
		counts.Pods++
		if known.pod.Spec.NodeName != "" {
			counts.Bound++
		}
		switch {
		case known.pod.ended():
			counts.Ended++
		case known.pod.Status.Phase == "Running":
			counts.Running++
		}
	}
	return counts
}
