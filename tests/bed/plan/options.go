package plan

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Options are what of a bed is not as usual: the zero value is a usual one.
type Options struct {
	Audit         bool       `json:"audit,omitempty"`         // write the API server's audit log
	FeatureGates  Gates      `json:"featureGates,omitempty"`  //
	RuntimeConfig string     `json:"runtimeConfig,omitempty"` // of the API server: versions of APIs it serves, `batch/v1=true,...`
	Scheduler     bool       `json:"scheduler,omitempty"`     // the real one puts pods on fake nodes
	Shape         NodesShape `json:"shape,omitzero"`          // of fake nodes
}

// NodesShape is what fake nodes have beside processors, memory and names.
type NodesShape struct {
	Devices Amounts `json:"devices,omitempty"` // extended resources, so many on each node
	Domains Amounts `json:"domains,omitempty"` // labels whose value so many nodes in a row have in common: racks and the like
}

// Equal says whether two beds with these options are alike.
func (options Options) Equal(other Options) bool { return reflect.DeepEqual(options, other) }

// Check says which options the mode has no use for.
func (options Options) Check(mode Mode) error {
	if options.Scheduler && mode != FakeNodes {
		return fmt.Errorf("--scheduler is for %s: %s beds have a scheduler", FakeNodes, mode)
	}
	if !reflect.DeepEqual(options.Shape, NodesShape{}) && !mode.HasFakeNodes() {
		return fmt.Errorf("--devices and --domains are for nodes that are objects only, which a bed of the kind %s has not", mode)
	}
	return nil
}

// Words are the options as `bed up` takes them.
func (options Options) Words() []string {
	var words []string
	if options.Audit {
		words = append(words, "--audit")
	}
	for _, option := range []struct{ name, value string }{
		{"--feature-gates", options.FeatureGates.String()},
		{"--runtime-config", options.RuntimeConfig},
		{"--devices", options.Shape.Devices.String()},
		{"--domains", options.Shape.Domains.String()},
	} {
		if option.value != "" {
			words = append(words, option.name, option.value)
		}
	}
	if options.Scheduler {
		words = append(words, "--scheduler")
	}
	return words
}

// Gates are feature gates by component; those of everybody are filed under no name.
type Gates map[string]map[string]bool

// gatedComponents take feature gates.
var gatedComponents = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"}

// ParseGates reads `GATE=true,COMPONENT:GATE=false`: a gate without a component is for all that have gates, one with a
// component is for that one alone and overrules the former.
func ParseGates(text string) (Gates, error) {
	var gates Gates
	for item := range items(text) {
		name, value, _ := strings.Cut(item, "=")
		component, gate, one := strings.Cut(name, ":")
		if !one {
			component, gate = "", name
		} else if !slices.Contains(gatedComponents, component) {
			return nil, fmt.Errorf("%q: a component with feature gates is one of %s", item, strings.Join(gatedComponents, ", "))
		}
		if gate == "" || value != "true" && value != "false" {
			return nil, fmt.Errorf("%q: use GATE=true, GATE=false or COMPONENT:GATE=...", item)
		}
		if gates == nil {
			gates = Gates{}
		}
		if gates[component] == nil {
			gates[component] = map[string]bool{}
		}
		gates[component][gate] = value == "true"
	}
	return gates, nil
}

// of are the gates of one component.
func (gates Gates) of(component string) map[string]bool {
	all := maps.Clone(gates[""])
	if all == nil {
		return gates[component]
	}
	maps.Copy(all, gates[component])
	return all
}

// arguments are what a component is started with for its gates; nothing if it has none.
func (gates Gates) arguments(component string) []string {
	mine := gates.of(component)
	if len(mine) == 0 || !slices.Contains(gatedComponents, component) {
		return nil
	}
	return []string{"--feature-gates", join(mine)}
}

// String is what ParseGates reads.
func (gates Gates) String() string {
	all := map[string]bool{}
	for component, named := range gates {
		for gate, on := range named {
			all[strings.TrimPrefix(component+":"+gate, ":")] = on
		}
	}
	return join(all)
}

// Amounts are numbers by name.
type Amounts map[string]int

// ParseAmounts reads `NAME=NUMBER,...`.
func ParseAmounts(text string) (Amounts, error) {
	var amounts Amounts
	for item := range items(text) {
		name, value, _ := strings.Cut(item, "=")
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 || name == "" {
			return nil, fmt.Errorf("%q: use NAME=NUMBER, a number above 0", item)
		}
		if amounts == nil {
			amounts = Amounts{}
		}
		amounts[name] = number
	}
	return amounts, nil
}

// String is what ParseAmounts reads.
func (amounts Amounts) String() string { return join(amounts) }

// items are the parts of a comma-separated list, which may be empty.
func items(text string) iter.Seq[string] {
	if text == "" {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(text, ",")
}

// join writes NAME=VALUE, separated by commas, in the order of names.
func join[Value any](values map[string]Value) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		words = append(words, fmt.Sprintf("%s=%v", name, values[name]))
	}
	return strings.Join(words, ",")
}
