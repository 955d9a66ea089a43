// Package faults is the way of a Mixed bed's pods to its API server: a proxy that is slow, refuses or cuts off as it is
// told. What runs beside the pods goes straight, so that a fault hits the operator under test and nothing that judges it.
//
// In: requests of pods, and what Control is told. Out: the API server's answers, spoilt.
package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Fault is how answers are spoilt. The zero value leaves them alone.
type Fault struct {
	Delay  time.Duration // every answer begins this much later than the API server gave it
	Refuse float64       // this part of all requests is answered 429, with Retry-After
	Cut    time.Duration // every watch ends after so long, in the middle of whatever it says
}

// retryAfter is what a refused client is told to wait, in seconds: what an API server under load says.
const retryAfter = 1

// ParseFault reads `delay=2s&refuse=0.5&cut=20s`, of which each part may be missing.
func ParseFault(values url.Values) (fault Fault, err error) {
	for name := range values {
		value := values.Get(name)
		switch name {
		case "delay":
			fault.Delay, err = time.ParseDuration(value)
		case "refuse":
			fault.Refuse, err = strconv.ParseFloat(value, 64)
		case "cut":
			fault.Cut, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("%q: there are delay, refuse and cut", name)
		}
		if err != nil {
			return Fault{}, err
		}
	}
	if fault.Delay < 0 || fault.Cut < 0 || fault.Refuse < 0 || fault.Refuse > 1 {
		return Fault{}, fmt.Errorf("delay=%s refuse=%g cut=%s: none may be negative, and refuse is a part of 1",
			fault.Delay, fault.Refuse, fault.Cut)
	}
	return fault, nil
}

// refuses throws the dice: a rule by turns would let each second try of one client pass.
func (fault Fault) refuses() bool { return fault.Refuse > 0 && rand.Float64() < fault.Refuse } //nolint:gosec

// isWatch tells a watch from a list.
func isWatch(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// refusal is what an API server says that has too much to do.
const refusal = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"Too many requests, please try again later.","reason":"TooManyRequests",` +
	`"details":{"retryAfterSeconds":1},"code":429}`
