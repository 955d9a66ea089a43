package supervisor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/plan"
)

// stopLimit is how long a program may take to end by itself.
const stopLimit = 20 * time.Second

// takeOrders lets whoever is inside the bed treat single components badly. A POST is answered when it is done:
//
//	/stop?component=NAME     the program ends, by itself or else killed
//	/start?component=NAME    it is started again and ready
//	/freeze?component=NAME   it stops working, and keeps its connections
//	/thaw?component=NAME     it goes on
func (started *start) takeOrders() error {
	listener, err := net.Listen("tcp", plan.Supervisor)
	if err != nil {
		return fmt.Errorf("taking orders: %w", err)
	}
	mux := http.NewServeMux()
	order := func(path string, obey func(name string) error) {
		mux.HandleFunc("POST "+path, func(answer http.ResponseWriter, request *http.Request) {
			if err := obey(request.URL.Query().Get("component")); err != nil {
				http.Error(answer, err.Error(), http.StatusConflict)
				return
			}
			answer.WriteHeader(http.StatusNoContent)
		})
	}
	order("/stop", started.stop)
	order("/start", started.again)
	order("/freeze", func(name string) error { return started.signal(name, unix.SIGSTOP) })
	order("/thaw", func(name string) error { return started.signal(name, unix.SIGCONT) })
	go func() { _ = http.Serve(listener, mux) }()
	return nil
}

// alive is a component's program, if it runs.
func (started *start) alive(name string) (life, error) {
	started.mutex.Lock()
	defer started.mutex.Unlock()
	found, known := started.running[name]
	if !known {
		return life{}, fmt.Errorf("no component %q runs on in this bed", name)
	}
	select {
	case <-found.over:
		return life{}, fmt.Errorf("%s has ended", name)
	default:
		return found, nil
	}
}

func (started *start) signal(name string, signal unix.Signal) error {
	found, err := started.alive(name)
	if err != nil {
		return err
	}
	return unix.Kill(found.process, signal)
}

func (started *start) stop(name string) error {
	found, err := started.alive(name)
	if err != nil {
		return err
	}
	// One that is frozen ends when it is thawed.
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGCONT} {
		if err := unix.Kill(found.process, signal); err != nil {
			return err
		}
	}
	select {
	case <-found.over:
		return nil
	case <-time.After(stopLimit):
	}
	if err := unix.Kill(found.process, unix.SIGKILL); err != nil {
		return err
	}
	<-found.over
	return nil
}

func (started *start) again(name string) error {
	if _, err := started.alive(name); err == nil {
		return fmt.Errorf("%s runs", name)
	}
	components := started.bed.Components()
	at := slices.IndexFunc(components, func(component plan.Component) bool { return component.Name == name })
	if at < 0 || components[at].Once || len(components[at].Argv) == 0 {
		return fmt.Errorf("no component %q runs on in this bed", name)
	}
	return started.launch(context.Background(), components[at])
}
