package state

import (
	"path/filepath"
	"time"

	"coxswain.dev/bed/plan"
)

const progressName = "progress.json"

// Progress is how far a bed has come. Its first process alone writes it.
type Progress struct {
	Steps   []Step `json:"steps"`             // in the order in which they were done or started
	Done    bool   `json:"done"`              // every step is
	Failure string `json:"failure,omitempty"` // why the bed gave up starting
	Culprit string `json:"culprit,omitempty"` // the component whose log tells more, if one is to blame
}

// Step is a component and what has become of it.
type Step struct {
	Name    string        `json:"name"`
	Shown   string        `json:"shown"`
	Process int           `json:"process,omitempty"` // inside the bed
	Elapsed time.Duration `json:"elapsed,omitempty"` // from the bed's start until the step was done; 0 if it is not
	Took    time.Duration `json:"took,omitempty"`    // from the step's own start
	Ended   string        `json:"ended,omitempty"`   // how a program ended that should run on
	At      time.Time     `json:"at,omitzero"`       // when it ended
}

// ReadProgress reads the progress in the state folder dir; it is empty before the first step.
func ReadProgress(dir string) (progress Progress, err error) {
	_, err = read(filepath.Join(dir, progressName), &progress)
	return progress, err
}

// Write replaces the progress in the bed's state folder.
func (progress Progress) Write(bed plan.Bed) error {
	return write(bed.Path(progressName), progress)
}

// Broken lists the steps whose program has ended although it should run on.
func (progress Progress) Broken() []Step {
	var broken []Step
	for _, step := range progress.Steps {
		if step.Ended != "" {
			broken = append(broken, step)
		}
	}
	return broken
}
