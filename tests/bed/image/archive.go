// Package image packs a folder into a container image without any container tool.
//
// In: a root folder and the settings that the image's processes start with. Out: a docker-archive tar with one layer,
// which `bed load`, `ctr images import` and `docker load` read.
package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Config is the part of an image's configuration that processes start from; the names are those of the
// OCI image specification.
type Config struct {
	User       string   `json:"User,omitempty"`
	Env        []string `json:"Env,omitempty"`
	Entrypoint []string `json:"Entrypoint,omitempty"`
	Cmd        []string `json:"Cmd,omitempty"`
	WorkingDir string   `json:"WorkingDir,omitempty"`
}

type rootfs struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type document struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       Config `json:"config"`
	RootFS       rootfs `json:"rootfs"`
}

type manifestEntry struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

const layerName = "layer.tar"

// Write packs the folder root as the image name (such as `localhost/pause:1`) into the file out. The file appears
// whole or not at all. The architecture is that of this program.
func Write(name, root, out string, config Config) (err error) {
	layer, err := os.CreateTemp(filepath.Dir(out), ".layer-*")
	if err != nil {
		return fmt.Errorf("creating the layer of %s: %w", name, err)
	}
	defer os.Remove(layer.Name())
	defer layer.Close()

	hash := sha256.New()
	if err := WriteLayer(io.MultiWriter(layer, hash), root); err != nil {
		return fmt.Errorf("packing %s: %w", root, err)
	}

	archive, err := os.CreateTemp(filepath.Dir(out), ".image-*")
	if err != nil {
		return fmt.Errorf("creating %s: %w", out, err)
	}
	defer os.Remove(archive.Name()) // fails after the rename, as it should
	defer archive.Close()
	if err := writeArchive(archive, name, layer, hex.EncodeToString(hash.Sum(nil)), config); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	if err := archive.Chmod(0o644); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	if err := os.Rename(archive.Name(), out); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	return nil
}

func writeArchive(out io.Writer, name string, layer *os.File, digest string, config Config) error {
	configBytes, err := json.Marshal(document{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Config:       config,
		RootFS:       rootfs{Type: "layers", DiffIDs: []string{"sha256:" + digest}},
	})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(configBytes)
	configName := hex.EncodeToString(sum[:]) + ".json"
	manifest, err := json.Marshal([]manifestEntry{{Config: configName, RepoTags: []string{name}, Layers: []string{layerName}}})
	if err != nil {
		return err
	}

	archive := tar.NewWriter(out)
	for _, file := range []struct {
		name    string
		content []byte
	}{{configName, configBytes}, {"manifest.json", manifest}} {
		if err := archive.WriteHeader(&tar.Header{Name: file.name, Mode: 0o644, Size: int64(len(file.content))}); err != nil {
			return err
		}
		if _, err := archive.Write(file.content); err != nil {
			return err
		}
	}
	size, err := layer.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: layerName, Mode: 0o644, Size: size}); err != nil {
		return err
	}
	if _, err := io.Copy(archive, layer); err != nil {
		return err
	}
	return archive.Close()
}
