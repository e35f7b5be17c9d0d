// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func nodesOf(t *testing.T, count, zones int, size Size) []*corev1.Node {
	t.Helper()
	nodes, err := NewNodes(count, zones, size)
	if err != nil {
		t.Fatal(err)
	}
	return nodes
}

func podOf(name string, requests map[corev1.ResourceName]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"name": name}}}
	list := corev1.ResourceList{}
	for resourceName, text := range requests {
		list[resourceName] = resource.MustParse(text)
	}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: list}}}
	return pod
}

func gpu(n string) map[corev1.ResourceName]string {
	return map[corev1.ResourceName]string{"nvidia.com/gpu": n}
}

func place(t *testing.T, c *Cluster, pod *corev1.Pod, want string) {
	t.Helper()
	node, why := c.Place(pod)
	if got := node + why; got != want {
		t.Fatalf("%s: %q, want %q", pod.Name, got, want)
	}
}

func TestPodsSpreadUntilNothingIsLeft(t *testing.T) {
	c := NewCluster(nodesOf(t, 2, 0, Size{"4", "1Gi", "8"}), nil, nil)
	place(t, c, podOf("a", gpu("8")), "node-1")
	place(t, c, podOf("b", gpu("4")), "node-2")
	place(t, c, podOf("c", map[corev1.ResourceName]string{"cpu": "3500m"}), "node-1")
	place(t, c, podOf("d", gpu("8")), "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
	place(t, c, podOf("e", gpu("4")), "node-2")
	place(t, c, podOf("f", map[corev1.ResourceName]string{"cpu": "600m", "nvidia.com/gpu": "1"}),
		"0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient nvidia.com/gpu.")
}

func TestOnlyLivingPodsOfANodeTakeRoom(t *testing.T) {
	ended, elsewhere, there := podOf("ended", gpu("8")), podOf("elsewhere", gpu("8")), podOf("there", gpu("7"))
	ended.Spec.NodeName, ended.Status.Phase = "node-1", corev1.PodFailed
	elsewhere.Spec.NodeName, there.Spec.NodeName = "other", "node-1"
	c := NewCluster(nodesOf(t, 1, 0, Size{"4", "1Gi", "8"}), []*corev1.Pod{ended, elsewhere, there}, nil)
	place(t, c, podOf("a", gpu("1")), "node-1")
	place(t, c, podOf("b", gpu("1")), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
}

func TestInitContainersNeedNoMoreThanTheLargest(t *testing.T) {
	pod := podOf("a", map[corev1.ResourceName]string{"cpu": "1"})
	large := podOf("x", map[corev1.ResourceName]string{"cpu": "4"}).Spec.Containers[0]
	large.Name = "init"
	pod.Spec.InitContainers = []corev1.Container{large, large}
	c := NewCluster(nodesOf(t, 1, 0, Size{"4", "1Gi", "0"}), nil, nil)
	place(t, c, pod, "node-1")
}

func TestNodesThatArePassedOver(t *testing.T) {
	nodes := nodesOf(t, 3, 3, Size{"4", "1Gi", "0"})
	nodes[0].Spec.Unschedulable = true
	nodes[1].Annotations = map[string]string{annotationDown: "true"}
	nodes[2].Spec.Taints = []corev1.Taint{
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule},
		{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule},
	}
	c := NewCluster(nodes, nil, nil)
	pod := podOf("a", nil)
	place(t, c, pod, "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s).")
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	place(t, c, pod, "node-3")
	pod = podOf("b", nil)
	pod.Spec.NodeSelector = map[string]string{"topology.kubernetes.io/zone": "zone-2"}
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	place(t, c, pod, "node-2")
	pod.Spec.NodeSelector["topology.kubernetes.io/zone"] = "zone-9"
	place(t, c, pod, "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.")
	place(t, NewCluster(nil, nil, nil), pod, "no nodes available to schedule pods")
}

func selectorOf(operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "group", Operator: operator, Values: values}}}
}

// exclusive is a leader that wants a zone with its own group only, as exclusive placement asks for it.
func exclusive(name, group string) *corev1.Pod {
	pod := podOf(name, nil)
	pod.Labels["group"] = group
	const zone = "topology.kubernetes.io/zone"
	others := selectorOf(metav1.LabelSelectorOpExists)
	others.MatchExpressions = append(others.MatchExpressions, selectorOf(metav1.LabelSelectorOpNotIn, group).MatchExpressions...)
	pod.Spec.Affinity = &corev1.Affinity{
		PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: zone, LabelSelector: selectorOf(metav1.LabelSelectorOpIn, group)}}},
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: zone, LabelSelector: others}}},
	}
	return pod
}

func TestExclusivePlacementGivesAZoneToAGroup(t *testing.T) {
	c := NewCluster(nodesOf(t, 4, 2, Size{"4", "1Gi", "0"}), nil, nil)
	place(t, c, exclusive("a-0", "a"), "node-1")
	place(t, c, exclusive("b-0", "b"), "node-2")
	place(t, c, exclusive("a-1", "a"), "node-3")
	place(t, c, exclusive("b-1", "b"), "node-4")
	place(t, c, exclusive("c-0", "c"), "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules.")
	intruder := podOf("intruder", nil)
	intruder.Labels["group"] = "x"
	place(t, c, intruder, "0/4 nodes are available: 4 node(s) didn't satisfy existing pods anti-affinity rules.")
	place(t, c, podOf("stranger", nil), "node-1")
}

func TestAffinityWaitsForWhomItSelects(t *testing.T) {
	c := NewCluster(nodesOf(t, 3, 0, Size{"4", "1Gi", "0"}), nil, map[string]labels.Set{"other": {"team": "red"}})
	follower := podOf("follower", nil)
	follower.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:       corev1.LabelHostname,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"name": "leader"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}},
		}}}}
	place(t, c, follower, "0/3 nodes are available: 3 node(s) didn't match pod affinity rules.")
	place(t, c, podOf("leader", nil), "node-1")
	place(t, c, follower, "0/3 nodes are available: 3 node(s) didn't match pod affinity rules.")
	leader := podOf("leader", nil)
	leader.Namespace = "other"
	place(t, c, leader, "node-2")
	place(t, c, follower, "node-2")
}

func TestTheImportantAndOldGoFirst(t *testing.T) {
	pods := []*corev1.Pod{podOf("p-10", nil), podOf("p-2", nil), podOf("old", nil), podOf("important", nil)}
	now, ten := metav1.Now(), int32(10)
	for _, pod := range pods {
		pod.CreationTimestamp = now
	}
	pods[2].CreationTimestamp = metav1.NewTime(now.Add(-1e9))
	pods[3].Spec.Priority = &ten
	InOrder(pods)
	for i, want := range []string{"important", "old", "p-2", "p-10"} {
		if pods[i].Name != want {
			t.Fatalf("%d: %s, want %s", i, pods[i].Name, want)
		}
	}
}

func TestNodeThatIsDownIsUnknownAndTainted(t *testing.T) {
	node, now := NewNode("n"), metav1.NewTime(start)
	node.Status = NodeStatus(node, now)
	if !IsSettled(node) || node.Status.Allocatable.Cpu().String() != "1k" {
		t.Fatalf("%+v", node.Status)
	}
	node.Annotations = map[string]string{annotationDown: "true"}
	node.Spec.Taints = []corev1.Taint{{Key: "mine", Effect: corev1.TaintEffectNoSchedule}}
	if IsSettled(node) {
		t.Fatal("it is settled before anybody said so")
	}
	node.Status, node.Spec.Taints = NodeStatus(node, now), Taints(node, now)
	if c := node.Status.Conditions[0]; !IsSettled(node) || c.Status != corev1.ConditionUnknown || c.Reason != "NodeStatusUnknown" {
		t.Fatalf("%+v", node.Status.Conditions)
	}
	if len(node.Spec.Taints) != 3 || len(Taints(node, now)) != 3 {
		t.Fatalf("%+v", node.Spec.Taints)
	}
	delete(node.Annotations, annotationDown)
	node.Status, node.Spec.Taints = NodeStatus(node, now), Taints(node, now)
	if !IsSettled(node) || len(node.Spec.Taints) != 1 {
		t.Fatalf("%+v", node)
	}
}
