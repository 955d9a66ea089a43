package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"coxswain.dev/bed/plan"
)

// askLimit is how long `bed status` waits for an API server that may be gone.
const askLimit = 5 * time.Second

// Answers are what the API server says now, for people.
type Answers struct {
	Server string `json:"server"` // its version
	Node   string `json:"node"`   // Ready, or why not
}

// NoAnswers says why there are none.
func NoAnswers(reason error) Answers {
	text := fmt.Sprintf("does not answer (%v)", reason)
	return Answers{Server: text, Node: "unknown"}
}

// Ask asks the API server of the bed; it works inside only.
func Ask(bed plan.Bed) Answers {
	prober, err := newProber(bed)
	if err != nil {
		return NoAnswers(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	body, err := prober.fetch(ctx, plan.Server+"/version")
	if err != nil {
		return NoAnswers(err)
	}
	var version struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &version); err != nil {
		return NoAnswers(err)
	}
	answers := Answers{Server: version.GitVersion, Node: "Ready"}
	if bed.Mode.RunsPods() {
		if err := prober.ask(ctx, plan.Probe{URL: plan.Server + "/api/v1/nodes/" + plan.NodeName, Node: plan.Schedulable}); err != nil {
			answers.Node = err.Error()
		}
	}
	return answers
}
