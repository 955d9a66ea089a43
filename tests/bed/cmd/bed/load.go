package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"coxswain.dev/bed/box"
	"coxswain.dev/bed/plan"
)

func runLoad(which selection, arguments []string) error {
	images := which.parse("load", arguments, true, nil)
	if len(images) == 0 {
		return errors.New("load: which docker-archive files?")
	}
	record, err := which.running()
	if err != nil {
		return err
	}
	if !record.Bed.Mode.RunsPods() {
		return fmt.Errorf("load: the bed %s has no node: start it with `bed up`", record.Bed.Name)
	}
	// Opened out here, and handed over as standard input: a path may mean something else inside.
	var files []*os.File
	for _, path := range images {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		defer file.Close()
		files = append(files, file)
	}
	if err := box.Enter(*record.First); err != nil {
		return err
	}
	for _, file := range files {
		begin := time.Now()
		var said bytes.Buffer
		if err := run(record.Bed, ctr(record.Bed, record.Bed.ImportArguments("-")...), file, &said); err != nil {
			return fmt.Errorf("loading %s: %w\n%s", file.Name(), err, said.String())
		}
		if err := awaitVisible(record.Bed); err != nil {
			return fmt.Errorf("loading %s: %w", file.Name(), err)
		}
		fmt.Printf("loaded %s (%.1f s)\n", file.Name(), time.Since(begin).Seconds())
	}
	return nil
}

func ctr(bed plan.Bed, arguments ...string) []string {
	return append([]string{bed.Path("bin", "ctr"), "-a", plan.ContainerdSocket, "-n", "k8s.io"}, arguments...)
}

// visibleLimit bounds the wait for an event inside containerd, which takes milliseconds.
const visibleLimit = 20 * time.Second

// awaitVisible waits until the kubelet can see every image. An import is done before the part of containerd that
// the kubelet asks has heard of it; a pod that comes in between fails for good if its pull policy is Never.
func awaitVisible(bed plan.Bed) error {
	for deadline := time.Now().Add(visibleLimit); ; {
		var list bytes.Buffer
		if err := run(bed, ctr(bed, "images", "ls"), nil, &list); err != nil {
			return err
		}
		unseen := unseenImages(list.String())
		if len(unseen) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("containerd does not show the kubelet %s", strings.Join(unseen, ", "))
		}
	}
}

// unseenImages are those of a `ctr images ls` without the label that containerd gives to images that it shows.
func unseenImages(list string) []string {
	var unseen []string
	_, rows, _ := strings.Cut(list, "\n")
	for row := range strings.Lines(rows) {
		if !strings.Contains(row, "io.cri-containerd.image=managed") {
			name, _, _ := strings.Cut(row, " ")
			unseen = append(unseen, name)
		}
	}
	return unseen
}
