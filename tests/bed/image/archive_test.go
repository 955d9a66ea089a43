package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
)

// entries reads a tar: headers by name, and contents.
func entries(t *testing.T, from io.Reader) (map[string]*tar.Header, map[string][]byte) {
	t.Helper()
	headers, contents := map[string]*tar.Header{}, map[string][]byte{}
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		headers[header.Name], contents[header.Name] = header, content
	}
}

func folder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(root, "etc", "empty"), 0o755),
		os.WriteFile(filepath.Join(root, "etc", "shadow"), []byte("secret"), 0o640),
		os.Link(filepath.Join(root, "etc", "shadow"), filepath.Join(root, "etc", "shadow-")),
		os.Symlink("shadow", filepath.Join(root, "etc", "link")),
		os.WriteFile(filepath.Join(root, "su"), nil, 0o755),
		os.Chmod(filepath.Join(root, "su"), 0o755|os.ModeSetuid),
		syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(socket)
	if err := syscall.Bind(socket, &syscall.SockaddrUnix{Name: filepath.Join(root, "socket")}); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestLayerKeepsModesAndLinksAndLeavesSocketsOut(t *testing.T) {
	var layer bytes.Buffer
	if err := WriteLayer(&layer, folder(t)); err != nil {
		t.Fatal(err)
	}
	headers, contents := entries(t, &layer)
	if len(headers) != 7 {
		t.Errorf("the layer holds %v", headers)
	}
	for name, want := range map[string]struct {
		kind byte
		mode int64
		link string
	}{
		"etc/":        {tar.TypeDir, 0o755, ""},
		"etc/empty/":  {tar.TypeDir, 0o755, ""},
		"etc/shadow":  {tar.TypeReg, 0o640, ""},
		"etc/shadow-": {tar.TypeLink, 0o640, "etc/shadow"},
		"etc/link":    {tar.TypeSymlink, 0o777, "shadow"},
		"su":          {tar.TypeReg, 0o4755, ""},
		"pipe":        {tar.TypeFifo, 0o600, ""},
	} {
		header := headers[name]
		if header == nil {
			t.Errorf("no %s", name)
			continue
		}
		if header.Typeflag != want.kind || header.Mode != want.mode || header.Linkname != want.link {
			t.Errorf("%s has type %c, mode %o, link %q", name, header.Typeflag, header.Mode, header.Linkname)
		}
		if header.Uid != os.Getuid() || header.Uname != "" {
			t.Errorf("%s belongs to %d %q", name, header.Uid, header.Uname)
		}
	}
	if string(contents["etc/shadow"]) != "secret" {
		t.Errorf("the content is %q", contents["etc/shadow"])
	}
}

func TestArchiveNamesItsConfigAndItsLayerByTheirDigests(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.tar")
	config := Config{User: "1000", Env: []string{"A=B"}, Entrypoint: []string{"/x"}, Cmd: []string{"y"}, WorkingDir: "/w"}
	if err := Write("localhost/x:1", folder(t), out, config); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, contents := entries(t, file)

	var manifest []manifestEntry
	if err := json.Unmarshal(contents["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("the manifest is %s (%v)", contents["manifest.json"], err)
	}
	if !reflect.DeepEqual(manifest[0].RepoTags, []string{"localhost/x:1"}) {
		t.Errorf("the image is called %v", manifest[0].RepoTags)
	}
	digest := func(content []byte) string {
		sum := sha256.Sum256(content)
		return hex.EncodeToString(sum[:])
	}
	configBytes := contents[manifest[0].Config]
	if manifest[0].Config != digest(configBytes)+".json" {
		t.Errorf("the configuration is called %s", manifest[0].Config)
	}
	var read document
	if err := json.Unmarshal(configBytes, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read.Config, config) {
		t.Errorf("the configuration is %v", read.Config)
	}
	if want := []string{"sha256:" + digest(contents[manifest[0].Layers[0]])}; !reflect.DeepEqual(read.RootFS.DiffIDs, want) {
		t.Errorf("the layer is called %v", read.RootFS.DiffIDs)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 1 {
		t.Errorf("beside the archive there are %v (%v)", left, err)
	}
}

func TestArchiveOfAFolderThatIsNotThereLeavesNoFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.tar")
	if err := Write("localhost/x:1", filepath.Join(t.TempDir(), "none"), out, Config{}); err == nil {
		t.Error("it succeeds")
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 0 {
		t.Errorf("there are %v (%v)", left, err)
	}
}
