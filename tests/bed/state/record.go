// Package state is what a bed writes down about itself in its state folder: the record, made by `bed up` before anything
// else, and the progress, kept by the bed's first process.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"coxswain.dev/bed/plan"
)

// Next is what a file is called while it is written.
const Next = ".next"

// RecordName also marks a folder as a bed's: nothing is ever removed from a folder without it.
const RecordName = "bed.json"

// Record says what a bed is and which process it stands and falls with.
type Record struct {
	Bed     plan.Bed  `json:"bed"`
	Started time.Time `json:"started"`
	First   *Process  `json:"first,omitempty"` // absent until it runs
}

// ReadRecord reads the record in the state folder dir. found is false if there is none.
func ReadRecord(dir string) (record Record, found bool, err error) {
	found, err = read(filepath.Join(dir, RecordName), &record)
	return record, found, err
}

// Write replaces the record in its bed's state folder.
func (record Record) Write() error { return write(filepath.Join(record.Bed.Dir, RecordName), record) }

func read(path string, into any) (found bool, err error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	return true, nil
}

// write replaces a file at once, so that no reader sees half of it.
func write(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	next := path + Next
	if err := os.WriteFile(next, append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(next, path)
}
