// Package fakenode plays the scheduler and the kubelets of nodes that are objects only: it binds pods (or leaves that to a
// scheduler), reports them Running and Ready, ends launchers on request, and lets deleted pods go. For benches that need
// thousands of pods.
//
// In: pods of the API server, and what Control is told. Out: bindings and statuses.
package fakenode

import (
	"context"
	"errors"
	"log"
	"net/http"
	"sync"
	"time"

	"coxswain.dev/bed/plan"
)

const (
	// nodes is how many Node objects there are: controllers look nodes up by name.
	nodes = 20
	// Hands is how many pods are served at once. More than that only fills the API server's queues.
	Hands = 32
	// again is how long a pod waits after the API server refused something.
	again = 200 * time.Millisecond
)

// Scheduler says who puts pods on fake nodes.
type Scheduler struct {
	name string // whose pods these are; empty for all
	real bool   // another program binds them
}

// Schedulers of fake nodes.
var (
	// OfAll is the fake kubelet itself, for all pods there are.
	OfAll = Scheduler{}
	// Another is a program beside it; pods start when they are bound.
	Another = Scheduler{real: true}
)

// Named is the fake kubelet itself, for the pods that name this scheduler.
func Named(name string) Scheduler { return Scheduler{name: name} }

// Kubelet is all of the fake nodes.
type Kubelet struct {
	api       *API
	scheduler Scheduler
	shape     plan.NodesShape

	mutex   sync.Mutex
	changed *sync.Cond
	pods    map[string]*entry // by uid
	queue   []string          // uids that something is to be done about, first come first served
	held    bool
	ending  map[string]bool // namespaces
	serial  uint32
}

// entry is a pod as last seen, what was done since included.
type entry struct {
	pod    pod
	queued bool // or in somebody's hands
	timed  bool // it has a time at which it ends
	over   bool // which has come
}

// New makes a kubelet that does nothing yet.
func New(api *API, scheduler Scheduler, shape plan.NodesShape) *Kubelet {
	kubelet := &Kubelet{api: api, scheduler: scheduler, shape: shape, pods: map[string]*entry{}, ending: map[string]bool{}}
	kubelet.changed = sync.NewCond(&kubelet.mutex)
	return kubelet
}

// Run makes the nodes and serves pods until ctx ends.
func (kubelet *Kubelet) Run(ctx context.Context) error {
	for serial := range uint32(nodes) {
		object := node(serial, kubelet.shape, kubelet.scheduler.real, time.Now())
		err := kubelet.api.send(ctx, http.MethodPost, "/api/v1/nodes", plainJSON, object)
		if err != nil && !isRefusal(err, http.StatusConflict) {
			return err
		}
	}
	for range Hands {
		go kubelet.serve(ctx)
	}
	for ctx.Err() == nil {
		err := kubelet.api.follow(ctx, kubelet.listed, kubelet.told)
		log.Printf("watching again: %v", err)
		time.Sleep(again)
	}
	return ctx.Err()
}

func isRefusal(err error, code int) bool {
	var refused refusal
	return errors.As(err, &refused) && refused.code == code
}

func (kubelet *Kubelet) listed(all []pod) {
	kubelet.mutex.Lock()
	defer kubelet.mutex.Unlock()
	there := map[string]bool{}
	for _, pod := range all {
		there[pod.Metadata.UID] = true
		kubelet.see(pod)
	}
	for uid := range kubelet.pods {
		if !there[uid] {
			delete(kubelet.pods, uid)
		}
	}
}

func (kubelet *Kubelet) told(pod pod, gone bool) {
	kubelet.mutex.Lock()
	defer kubelet.mutex.Unlock()
	if gone {
		delete(kubelet.pods, pod.Metadata.UID)
		return
	}
	kubelet.see(pod)
}

// see takes note of a pod. The caller holds the lock.
func (kubelet *Kubelet) see(pod pod) {
	if kubelet.scheduler.name != "" && pod.Spec.SchedulerName != kubelet.scheduler.name {
		return
	}
	known := kubelet.pods[pod.Metadata.UID]
	if known == nil {
		known = &entry{}
		kubelet.pods[pod.Metadata.UID] = known
	}
	// The watch may still bring what was before our own last word.
	if rank(known.pod) > rank(pod) {
		pod.Status, pod.Spec.NodeName = known.pod.Status, known.pod.Spec.NodeName
	}
	known.pod = pod
	kubelet.limit(pod.Metadata.UID, known)
	kubelet.consider(pod.Metadata.UID, known)
}

// limit ends a pod that runs when its time is over. The caller holds the lock.
func (kubelet *Kubelet) limit(uid string, known *entry) {
	span, limited := known.pod.span()
	if !limited || known.timed || known.pod.Status.Phase != "Running" {
		return
	}
	known.timed = true
	time.AfterFunc(span, func() {
		kubelet.mutex.Lock()
		defer kubelet.mutex.Unlock()
		known.over = true
		kubelet.consider(uid, known)
	})
}

// next is what to do about a pod. The caller holds the lock.
func (kubelet *Kubelet) next(known *entry) action {
	waits := kubelet.scheduler.real && known.pod.Spec.NodeName == ""
	ends := known.over || kubelet.ending[known.pod.Metadata.Namespace]
	return known.pod.next(kubelet.held || waits, ends)
}

// rank orders the states of a pod's life.
func rank(pod pod) int {
	switch {
	case pod.ended():
		return 3
	case pod.Status.Phase == "Running":
		return 2
	case pod.Spec.NodeName != "":
		return 1
	}
	return 0
}

// consider puts a pod in line if there is something to do about it. The caller holds the lock.
func (kubelet *Kubelet) consider(uid string, known *entry) {
	if known.queued || kubelet.next(known) == nothing {
		return
	}
	known.queued = true
	kubelet.queue = append(kubelet.queue, uid)
	kubelet.changed.Signal()
}

// considerAll is for when a rule has changed.
func (kubelet *Kubelet) considerAll() {
	for uid, known := range kubelet.pods {
		kubelet.consider(uid, known)
	}
}

// serve takes pods from the line, one after the other.
func (kubelet *Kubelet) serve(ctx context.Context) {
	for {
		kubelet.mutex.Lock()
		for len(kubelet.queue) == 0 {
			kubelet.changed.Wait()
		}
		uid := kubelet.queue[0]
		kubelet.queue = kubelet.queue[1:]
		known := kubelet.pods[uid]
		if known == nil {
			kubelet.mutex.Unlock()
			continue
		}
		pod := known.pod
		todo := kubelet.next(known)
		kubelet.serial++
		serial := kubelet.serial
		kubelet.mutex.Unlock()

		err := kubelet.do(ctx, todo, &pod, serial)
		if err != nil && !isRefusal(err, http.StatusNotFound) && !isRefusal(err, http.StatusConflict) {
			log.Printf("%s: %v", pod.path(), err)
		}
		if err != nil {
			time.Sleep(again)
		}
		kubelet.mutex.Lock()
		if known := kubelet.pods[uid]; known != nil {
			known.queued = false
			if rank(pod) > rank(known.pod) {
				known.pod.Status, known.pod.Spec.NodeName = pod.Status, pod.Spec.NodeName
			}
			kubelet.after(todo, err, uid, known)
		}
		kubelet.mutex.Unlock()
	}
}

// after looks at a pod again, unless it only waits for the watch to say that it is gone.
func (kubelet *Kubelet) after(did action, err error, uid string, known *entry) {
	if did == remove && (err == nil || isRefusal(err, http.StatusNotFound)) {
		delete(kubelet.pods, uid)
		return
	}
	kubelet.consider(uid, known)
}

// do carries one action out and writes into pod what has become of it.
func (kubelet *Kubelet) do(ctx context.Context, todo action, pod *pod, serial uint32) error {
	switch todo {
	case start:
		if pod.Spec.NodeName == "" {
			name := nodeName(serial)
			if err := kubelet.api.send(ctx, http.MethodPost, pod.path()+"/binding", plainJSON, pod.binding(name)); err != nil {
				return err
			}
			pod.Spec.NodeName = name
		}
		if err := kubelet.status(ctx, pod, pod.running(serial, time.Now())); err != nil {
			return err
		}
		pod.Status.Phase = "Running"
	case finish:
		if err := kubelet.status(ctx, pod, pod.terminated("Succeeded", time.Now())); err != nil {
			return err
		}
		pod.Status.Phase = "Succeeded"
	case remove:
		// The Job controller lets go of a pod only when it has ended.
		if len(pod.Metadata.Finalizers) > 0 && !pod.ended() {
			if err := kubelet.status(ctx, pod, pod.terminated("Failed", time.Now())); err != nil {
				return err
			}
		}
		return kubelet.api.send(ctx, http.MethodDelete, pod.path(), plainJSON, pod.removal())
	}
	return nil
}

func (kubelet *Kubelet) status(ctx context.Context, pod *pod, patch object) error {
	return kubelet.api.send(ctx, http.MethodPatch, pod.path()+"/status", mergePatch, patch)
}
