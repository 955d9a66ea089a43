package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"coxswain.dev/bed/image"
)

// jsonList is a flag whose value is a JSON array of strings, the form that images keep commands in.
type jsonList []string

func (list *jsonList) String() string { return fmt.Sprint([]string(*list)) }

func (list *jsonList) Set(value string) error {
	if err := json.Unmarshal([]byte(value), (*[]string)(list)); err != nil {
		return fmt.Errorf(`not a JSON array of strings such as ["/bin/sh","-c"]: %w`, err)
	}
	return nil
}

// repeated is a flag that may be given several times.
type repeated []string

func (list *repeated) String() string { return fmt.Sprint([]string(*list)) }

func (list *repeated) Set(value string) error {
	*list = append(*list, value)
	return nil
}

func runImage(_ selection, arguments []string) error {
	flags := flag.NewFlagSet("bed image", flag.ExitOnError)
	name := flags.String("name", "", "name of the image with its tag, such as localhost/x:1")
	root := flags.String("root", "", "folder to pack")
	out := flags.String("out", "", "docker-archive tar to write")
	var config image.Config
	flags.Var((*jsonList)(&config.Entrypoint), "entrypoint", "JSON array of strings")
	flags.Var((*jsonList)(&config.Cmd), "cmd", "JSON array of strings")
	flags.Var((*repeated)(&config.Env), "env", "`KEY=VALUE`, may be repeated")
	flags.StringVar(&config.WorkingDir, "workdir", "", "working directory")
	flags.StringVar(&config.User, "user", "", "user, as a number or a name in the image")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *name == "" || *root == "" || *out == "" || flags.NArg() > 0 {
		return fmt.Errorf("image: --name, --root and --out are needed, and nothing but flags (left over: %q)", flags.Args())
	}
	if folder, err := os.Stat(*root); err != nil {
		return fmt.Errorf("image: --root: %w", err)
	} else if !folder.IsDir() {
		return fmt.Errorf("image: --root %s is not a folder", *root)
	}
	return image.Write(*name, *root, *out, config)
}
