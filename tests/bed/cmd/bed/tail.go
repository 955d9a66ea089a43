package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	tailLines = 20
	tailBytes = 16 << 10
)

// tail is the end of a log, with its path, for people.
func tail(path string) string {
	content, err := lastBytes(path, tailBytes)
	if err != nil {
		return fmt.Sprintf("(its log: %v)", err)
	}
	lines := strings.Split(strings.TrimRight(content, "\n"), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return fmt.Sprintf("  %s\nthe whole log: %s", strings.Join(lines, "\n  "), path)
}

func lastBytes(path string, count int64) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	if _, err := file.Seek(max(0, size-count), io.SeekStart); err != nil {
		return "", err
	}
	content, err := io.ReadAll(file)
	return string(content), err
}
