// SPDX-License-Identifier: Apache-2.0

// The pure half of podsim: Nodes, those that answer and those that do not.
package sim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations of Nodes; ../podsim.go says what they mean.
const (
	annotationNode = "podsim.truce.dev/node"
	annotationDown = "podsim.truce.dev/down"
)

const defaultHostIP = "10.0.0.1"

// Size is what a Node has to give, as quantities.
type Size struct{ CPU, Memory, GPU string }

// Endless is the size of a Node for which nobody said one.
var Endless = Size{CPU: "1000", Memory: "4Ti", GPU: "1000"}

func (s Size) resources() (corev1.ResourceList, error) {
	list := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10k")}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: s.CPU, corev1.ResourceMemory: s.Memory, "nvidia.com/gpu": s.GPU} {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", name, text, err)
		}
		if !quantity.IsZero() {
			list[name] = quantity
		}
	}
	return list, nil
}

// NewNode is a Node that has not been Ready yet.
func NewNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
		},
	}}
}

// NewNodes makes node-1, node-2 … of one size, in turn in zone-1, zone-2 … when there are zones.
func NewNodes(count, zones int, size Size) ([]*corev1.Node, error) {
	resources, err := size.resources()
	if err != nil {
		return nil, err
	}
	var nodes []*corev1.Node
	for i := range count {
		node := NewNode(fmt.Sprintf("node-%d", i+1))
		if zones > 0 {
			node.Labels[corev1.LabelTopologyZone] = fmt.Sprintf("zone-%d", i%zones+1)
		}
		node.Status.Capacity, node.Status.Allocatable = resources, resources
		node.Status.Addresses = addresses(fmt.Sprintf("10.0.%d.%d", (i+1)/256, (i+1)%256), node.Name)
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// IsSimulated: somebody asked for it; it is not one of podsim's own.
func IsSimulated(node *corev1.Node) bool { return node.Annotations[annotationNode] == "true" }

func IsDown(node *corev1.Node) bool { return node.Annotations[annotationDown] == "true" }

func HostIP(node *corev1.Node) string {
	if node != nil {
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address
			}
		}
	}
	return defaultHostIP
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// IsSettled: its status says already whether it answers.
func IsSettled(node *corev1.Node) bool {
	if IsDown(node) {
		return readiness(node) == corev1.ConditionUnknown
	}
	return readiness(node) == corev1.ConditionTrue
}

// NodeStatus is the status of a Node that answers, or of one that has stopped to.
func NodeStatus(node *corev1.Node, now metav1.Time) corev1.NodeStatus {
	status := *node.Status.DeepCopy()
	if IsDown(node) {
		for i := range status.Conditions {
			c := &status.Conditions[i]
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.LastTransitionTime = now
		}
		if readiness(node) == "" {
			status.Conditions = append(status.Conditions, corev1.NodeCondition{
				Type:               corev1.NodeReady,
				Status:             corev1.ConditionUnknown,
				Reason:             "NodeStatusNeverUpdated",
				Message:            "Kubelet never posted node status.",
				LastTransitionTime: now,
			})
		}
		return status
	}
	if len(status.Capacity) == 0 && len(status.Allocatable) == 0 {
		status.Capacity, _ = Endless.resources()
	}
	if len(status.Capacity) == 0 {
		status.Capacity = status.Allocatable
	}
	if len(status.Allocatable) == 0 {
		status.Allocatable = status.Capacity
	}
	if len(status.Addresses) == 0 {
		status.Addresses = addresses(defaultHostIP, node.Name)
	}
	status.Conditions = []corev1.NodeCondition{{
		Type:               corev1.NodeReady,
		Status:             corev1.ConditionTrue,
		Reason:             "KubeletReady",
		Message:            "simulated",
		LastHeartbeatTime:  now,
		LastTransitionTime: now,
	}}
	return status
}

// Taints are those of the Node with, or without, the two that the node controller gives to what cannot be reached.
func Taints(node *corev1.Node, now metav1.Time) []corev1.Taint {
	var taints []corev1.Taint
	for _, t := range node.Spec.Taints {
		if t.Key != corev1.TaintNodeUnreachable {
			taints = append(taints, t)
		}
	}
	if IsDown(node) {
		taints = append(taints,
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now},
			corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &now})
	}
	return taints
}

func addresses(ip, name string) []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: ip},
		{Type: corev1.NodeHostName, Address: name},
	}
}
