// Command bed is a Kubernetes on one machine, for tests and the demo. `bed help` lists what it does.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const usage = `usage: bed [--name NAME] [--dir FOLDER] COMMAND

  image --name NAME --root FOLDER --out FILE.tar [...]   pack a folder as a container image
`

// exitError ends the program with a command's own exit code, without a message.
type exitError int

func (code exitError) Error() string { return fmt.Sprintf("exit code %d", int(code)) }

var commands = map[string]func(arguments []string) error{
	"image": runImage,
}

func main() {
	if len(os.Args) < 2 || strings.TrimLeft(os.Args[1], "-") == "help" {
		fmt.Print(usage)
		return
	}
	run, known := commands[os.Args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "bed: no command %q\n%s", os.Args[1], usage)
		os.Exit(2)
	}
	err := run(os.Args[2:])
	var code exitError
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil:
		fmt.Fprintln(os.Stderr, "bed:", err)
		os.Exit(1)
	}
}
