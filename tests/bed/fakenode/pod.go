package fakenode

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"coxswain.dev/bed/plan"
)

// pod is what of a Pod object decides what its kubelet does.
type pod struct {
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		DeletionTimestamp *time.Time        `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		Finalizers        []string          `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		NodeName        string     `json:"nodeName"`
		SchedulerName   string     `json:"schedulerName"`
		SchedulingGates []struct{} `json:"schedulingGates"`
		Containers      []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// The label by which a launcher is known, of the MPI Operator.
const (
	roleLabel = "training.kubeflow.org/job-role"
	launcher  = "launcher"
)

// runsFor is the annotation that says how long a launcher runs before it ends with success: a Go duration.
const runsFor = "bed.coxswain.dev/runs-for"

// action is the next thing that a pod's kubelet does.
type action int

const (
	nothing action = iota
	start          // bind it, unless it is bound, and report it Running and Ready
	finish         // report it Succeeded
	remove         // confirm that it has ended, so that it goes away
)

func (pod pod) isLauncher() bool { return pod.Metadata.Labels[roleLabel] == launcher }

// span is how long it runs by itself, if that is said.
func (pod pod) span() (time.Duration, bool) {
	span, err := time.ParseDuration(pod.Metadata.Annotations[runsFor])
	return span, err == nil
}

func (pod pod) ended() bool { return pod.Status.Phase == "Succeeded" || pod.Status.Phase == "Failed" }

// next decides. held: no pod starts; ending: launchers end.
func (pod pod) next(held, ending bool) action {
	switch {
	case pod.Metadata.DeletionTimestamp != nil:
		return remove
	case pod.ended():
		return nothing
	case pod.Status.Phase == "Running":
		if ending && pod.isLauncher() {
			return finish
		}
		return nothing
	case held || len(pod.Spec.SchedulingGates) > 0:
		return nothing
	}
	return start
}

func (pod pod) path() string {
	return "/api/v1/namespaces/" + pod.Metadata.Namespace + "/pods/" + pod.Metadata.Name
}

type object = map[string]any

func (pod pod) binding(node string) object {
	return object{
		"apiVersion": "v1", "kind": "Binding",
		"metadata": object{"name": pod.Metadata.Name, "namespace": pod.Metadata.Namespace, "uid": pod.Metadata.UID},
		"target":   object{"apiVersion": "v1", "kind": "Node", "name": node},
	}
}

// running is the status of a pod whose containers run, at an address of its own; serial makes the address.
func (pod pod) running(serial uint32, now time.Time) object {
	address := podAddress(serial)
	state := object{"running": object{"startedAt": now.UTC().Format(time.RFC3339)}}
	return object{
		"metadata": object{"uid": pod.Metadata.UID},
		"status": object{
			"phase": "Running", "startTime": now.UTC().Format(time.RFC3339),
			"podIP": address, "podIPs": []object{{"ip": address}}, "hostIP": hostAddress,
			"conditions":        conditions("True", "", now),
			"containerStatuses": pod.containers(true, state),
		},
	}
}

// terminated is the status of a pod whose containers have ended, phase Succeeded or Failed.
func (pod pod) terminated(phase string, now time.Time) object {
	code := 0
	if phase == "Failed" {
		code = 143 // SIGTERM
	}
	state := object{"terminated": object{"exitCode": code, "finishedAt": now.UTC().Format(time.RFC3339)}}
	return object{
		"metadata": object{"uid": pod.Metadata.UID},
		"status": object{
			"phase": phase, "conditions": conditions("False", "PodCompleted", now),
			"containerStatuses": pod.containers(false, state),
		},
	}
}

func (pod pod) containers(ready bool, state object) []object {
	statuses := []object{}
	for _, container := range pod.Spec.Containers {
		statuses = append(statuses, object{
			"name": container.Name, "image": container.Image, "imageID": container.Image,
			"ready": ready, "started": ready, "restartCount": 0, "state": state,
		})
	}
	return statuses
}

func conditions(ready, reason string, now time.Time) []object {
	condition := func(kind, status, reason string) object {
		return object{"type": kind, "status": status, "reason": reason, "lastTransitionTime": now.UTC().Format(time.RFC3339)}
	}
	return []object{
		condition("PodScheduled", "True", ""), condition("Initialized", "True", reason),
		condition("Ready", ready, reason), condition("ContainersReady", ready, reason),
	}
}

// hostAddress is every node's: nobody goes there.
const hostAddress = "10.88.1.1"

// podAddress never leaves 100.64.0.0/10, which is for addresses that mean something inside only.
func podAddress(serial uint32) string {
	serial %= 1 << 22
	return fmt.Sprintf("100.%d.%d.%d", 64+serial>>16, serial>>8&255, serial&255)
}

// removal ends the grace period of exactly this pod.
func (pod pod) removal() object {
	return object{
		"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
		"preconditions": object{"uid": pod.Metadata.UID},
	}
}

// nodeName is the node that a serial number falls to.
func nodeName(serial uint32) string { return fmt.Sprintf("fake-%02d", serial%nodes) }

// node is the Node object of a serial number, Ready and large. Its status is set with it: the API server keeps it on
// creation. A scheduler that is beside it leaves it alone unless it is open.
func node(serial uint32, shape plan.NodesShape, open bool, now time.Time) object {
	name := nodeName(serial)
	size := object{"cpu": "1000", "memory": "4000Gi", "pods": "100000", "ephemeral-storage": "4000Gi"}
	for device, count := range shape.Devices {
		size[device] = strconv.Itoa(count)
	}
	labels := object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
	for label, width := range shape.Domains {
		labels[label] = fmt.Sprintf("domain-%02d", int(serial)/width)
	}
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": name, "labels": labels},
		"spec":     object{"unschedulable": !open},
		"status": object{
			"capacity": size, "allocatable": size,
			"addresses": []object{{"type": "InternalIP", "address": hostAddress}},
			"conditions": []object{{
				"type": "Ready", "status": "True", "reason": "Fake", "message": "this node is an object only",
				"lastHeartbeatTime": now.UTC().Format(time.RFC3339), "lastTransitionTime": now.UTC().Format(time.RFC3339),
			}},
		},
	}
}

// read decodes a Pod.
func read(raw json.RawMessage) (pod, error) {
	var seen pod
	err := json.Unmarshal(raw, &seen)
	return seen, err
}
