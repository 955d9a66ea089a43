package image

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

type inode struct{ device, number uint64 }

// WriteLayer writes the folder root as a layer: owners and modes as they are on disk (numbers, no names), symbolic and
// hard links as links, device nodes as nodes. Sockets are left out: they mean nothing without their process.
// Extended attributes are not kept.
func WriteLayer(out io.Writer, root string) error {
	layer := tar.NewWriter(out)
	seen := map[inode]string{}
	walk := func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if name == "." || info.Mode().Type() == fs.ModeSocket {
			return nil
		}
		return writeEntry(layer, path, name, info, seen)
	}
	if err := filepath.WalkDir(root, walk); err != nil {
		return err
	}
	return layer.Close()
}

func writeEntry(layer *tar.Writer, path, name string, info fs.FileInfo, seen map[inode]string) error {
	target := ""
	if info.Mode().Type() == fs.ModeSymlink {
		var err error
		if target, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	header.Name = name
	if info.IsDir() {
		header.Name += "/"
	}
	header.Uname, header.Gname = "", ""
	// Whole seconds and no other times keep each entry to one block.
	header.ModTime = header.ModTime.Truncate(time.Second)
	header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}

	if stat, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() && stat.Nlink > 1 {
		key := inode{uint64(stat.Dev), stat.Ino}
		if first, linked := seen[key]; linked {
			header.Typeflag, header.Linkname, header.Size = tar.TypeLink, first, 0
			return layer.WriteHeader(header)
		}
		seen[key] = name
	}
	if err := layer.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(layer, file)
	return err
}
