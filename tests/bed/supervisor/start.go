// Package supervisor is the bed's first process: it furnishes the new namespaces, starts the components in their order
// and watches them. Everything in the bed ends when it ends.
//
// In: the plan. Out: running programs, their logs, and the progress in the state folder.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

// Run starts the bed and stays until it is told to end. It returns only with an error, which is also in the progress.
func Run(bed plan.Bed, environment []string) error {
	end := make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGTERM, unix.SIGINT)
	started := &start{bed: bed, began: time.Now(), done: map[string]chan struct{}{}, running: map[string]life{}}
	if err := furnish(bed); err != nil {
		return started.fail(err)
	}
	var err error
	if started.prober, err = newProber(bed); err != nil {
		return started.fail(err)
	}
	started.programs = newPrograms(environment)
	if err := started.all(); err != nil {
		return started.fail(err)
	}
	if err := started.takeOrders(); err != nil {
		return started.fail(err)
	}
	started.record(func(progress *state.Progress) { progress.Done = true })
	log.Printf("up after %s", time.Since(started.began).Round(time.Millisecond))
	return fmt.Errorf("ending: %s", <-end)
}

// start is a bed on its way up.
type start struct {
	bed      plan.Bed
	began    time.Time
	programs *programs
	prober   *prober
	done     map[string]chan struct{} // closed when the component of that name is done

	mutex    sync.Mutex
	progress state.Progress
	running  map[string]life // by component
}

// life is a program that should run on.
type life struct {
	process int
	over    chan struct{} // closed when it has ended
}

// culpritError blames a component.
type culpritError struct {
	component string
	cause     error
}

func (err culpritError) Error() string { return err.component + ": " + err.cause.Error() }
func (err culpritError) Unwrap() error { return err.cause }

// all takes every step, each as soon as those before it are done. The first failure stops the rest.
func (started *start) all() error {
	components := started.bed.Components()
	for _, component := range components {
		started.done[component.Name] = make(chan struct{})
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var steps sync.WaitGroup
	for _, component := range components {
		steps.Add(1)
		go func() {
			defer steps.Done()
			if err := started.one(ctx, component); err != nil {
				cancel(culpritError{component.Name, err}) // only the first one counts
			}
		}()
	}
	steps.Wait()
	return context.Cause(ctx)
}

func (started *start) one(ctx context.Context, component plan.Component) error {
	for _, before := range component.After {
		select {
		case <-started.done[before]:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := started.launch(ctx, component); err != nil {
		return err
	}
	close(started.done[component.Name])
	return nil
}

// launch starts a component and waits until it is ready.
func (started *start) launch(ctx context.Context, component plan.Component) error {
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, component.Limit, fmt.Errorf("not done after %s", component.Limit))
	defer cancel()
	step := state.Step{Name: component.Name, Shown: component.Shown}
	var running program
	if len(component.Argv) > 0 {
		var err error
		if running, err = started.programs.start(component.Argv, started.bed.Log(component.Name)); err != nil {
			return fmt.Errorf("starting: %w", err)
		}
		step.Process = running.process
	}
	started.show(step)
	if err := started.ready(ctx, component, running); err != nil {
		return err
	}
	step.Took, step.Elapsed = time.Since(begin), time.Since(started.began)
	started.show(step)
	if len(component.Argv) > 0 && !component.Once {
		over := make(chan struct{})
		started.mutex.Lock()
		started.running[component.Name] = life{running.process, over}
		started.mutex.Unlock()
		go started.watch(step, running, over)
	}
	return nil
}

// ready waits until the component is done, or has failed to be.
func (started *start) ready(ctx context.Context, component plan.Component, running program) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make(chan error, 1)
	go func() {
		for _, probe := range component.Ready {
			if err := started.prober.wait(ctx, probe); err != nil {
				answers <- fmt.Errorf("%w (%w)", context.Cause(ctx), err)
				return
			}
		}
		if !component.Once {
			answers <- nil
		}
	}()
	select {
	case err := <-answers:
		return err
	case how := <-running.ended: // nil, and never ready, where nothing runs
		if component.Once && how == "" {
			return nil
		}
		return fmt.Errorf("ended while starting: %s", orWell(how))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch writes down when a program ends that should run on. It is started again only on request: a test shall see what
// happened.
func (started *start) watch(step state.Step, running program, over chan<- struct{}) {
	how := orWell(<-running.ended)
	log.Printf("%s (process %d) has ended: %s", step.Name, step.Process, how)
	step.Ended, step.At = how, time.Now()
	started.show(step)
	close(over)
}

func orWell(how string) string {
	if how == "" {
		return "exit code 0"
	}
	return how
}

// show puts the step into the progress; steps that are done move behind those done before.
func (started *start) show(step state.Step) {
	started.record(func(progress *state.Progress) {
		at := slices.IndexFunc(progress.Steps, func(other state.Step) bool { return other.Name == step.Name })
		switch {
		case at < 0:
			progress.Steps = append(progress.Steps, step)
		case step.Ended != "":
			progress.Steps[at] = step
		default:
			progress.Steps = append(slices.Delete(progress.Steps, at, at+1), step)
		}
	})
}

func (started *start) record(change func(*state.Progress)) {
	started.mutex.Lock()
	defer started.mutex.Unlock()
	change(&started.progress)
	if err := started.progress.Write(started.bed); err != nil {
		log.Printf("writing the progress: %v", err)
	}
}

func (started *start) fail(err error) error {
	started.record(func(progress *state.Progress) {
		progress.Failure = err.Error()
		var culprit culpritError
		if errors.As(err, &culprit) {
			progress.Culprit = culprit.component
		}
	})
	return err
}
