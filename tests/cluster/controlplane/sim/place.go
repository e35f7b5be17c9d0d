// SPDX-License-Identifier: Apache-2.0

// The pure half of podsim: the scheduler. It looks at what can make a pod wait: cordons, taints, nodeSelector and
// required node affinity, requests, required affinity and anti-affinity between pods. Of the Nodes that remain it takes
// the one with the fewest pods. Preferences, spread constraints, volumes and ports are nothing to it, and it preempts
// nobody.
package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podresources "k8s.io/component-helpers/resource"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

type placeNode struct {
	node *corev1.Node
	used corev1.ResourceList
	pods []*corev1.Pod
}

// Cluster is what the scheduler knows.
type Cluster struct {
	nodes      []*placeNode
	namespaces map[string]labels.Set
	shy        []shyPod // pods on Nodes that want others away from them
}

type shyPod struct {
	pod  *corev1.Pod
	node *corev1.Node
}

// NewCluster takes all pods; those without a Node, on others, or at their end take no room.
func NewCluster(nodes []*corev1.Node, pods []*corev1.Pod, namespaces map[string]labels.Set) *Cluster {
	c := &Cluster{namespaces: namespaces}
	for _, node := range nodes {
		c.nodes = append(c.nodes, &placeNode{node: node, used: corev1.ResourceList{}})
	}
	slices.SortFunc(c.nodes, func(a, b *placeNode) int { return compareNames(a.node.Name, b.node.Name) })
	for _, pod := range pods {
		for _, n := range c.nodes {
			if n.node.Name == pod.Spec.NodeName && !HasEnded(pod) {
				c.add(n, pod)
			}
		}
	}
	return c
}

// compareNames: node-2 comes before node-10.
func compareNames(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// InOrder sorts pods as a scheduler takes them: the important first, then the oldest.
func InOrder(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(schedulinghelpers.PodPriority(b), schedulinghelpers.PodPriority(a)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace),
			compareNames(a.Name, b.Name))
	})
}

func (c *Cluster) add(n *placeNode, pod *corev1.Pod) {
	n.pods = append(n.pods, pod)
	for name, quantity := range requestsOf(pod) {
		sum := n.used[name]
		sum.Add(quantity)
		n.used[name] = sum
	}
	if len(antiAffinityTerms(pod)) > 0 {
		c.shy = append(c.shy, shyPod{pod, n.node})
	}
}

func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	return podresources.PodRequests(pod, podresources.PodResourcesOptions{})
}

// Place puts a pod on a Node, which the cluster counts from then on, or says in a scheduler's words why there is none.
func (c *Cluster) Place(pod *corev1.Pod) (node, whyNot string) {
	var best *placeNode
	reasons := map[string]int{}
	for _, n := range c.nodes {
		against := c.against(n, pod)
		for _, reason := range against {
			reasons[reason]++
		}
		if len(against) == 0 && (best == nil || len(n.pods) < len(best.pods)) {
			best = n
		}
	}
	if best == nil {
		return "", c.explain(reasons)
	}
	c.add(best, pod)
	return best.node.Name, ""
}

func (c *Cluster) explain(reasons map[string]int) string {
	if len(c.nodes) == 0 {
		return "no nodes available to schedule pods"
	}
	var texts []string
	for reason, count := range reasons {
		texts = append(texts, fmt.Sprintf("%d %s", count, reason))
	}
	slices.Sort(texts)
	return fmt.Sprintf("0/%d nodes are available: %s.", len(c.nodes), strings.Join(texts, ", "))
}

// against is what speaks against a Node, as far as a scheduler looks: the first kind of reason ends it.
func (c *Cluster) against(n *placeNode, pod *corev1.Pod) []string {
	if n.node.Spec.Unschedulable && !tolerates(pod, &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}) {
		return []string{"node(s) were unschedulable"}
	}
	if hasTaintAgainst(n.node, pod) {
		return []string{"node(s) had untolerated taint(s)"}
	}
	if ok, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n.node); !ok {
		return []string{"node(s) didn't match Pod's node affinity/selector"}
	}
	if missing := n.missing(pod); len(missing) > 0 {
		return missing
	}
	return c.affinityAgainst(n, pod)
}

func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return schedulinghelpers.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, taint, true)
}

// hasTaintAgainst: a Node that does not answer is out of reach also before the taint that says so is there, and one
// that does is within, although the node controller has not taken its "not ready" away.
func hasTaintAgainst(node *corev1.Node, pod *corev1.Pod) bool {
	unreachable := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}
	if IsDown(node) && !tolerates(pod, &unreachable) {
		return true
	}
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		isOurs := t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady
		isSoft := t.Effect == corev1.TaintEffectPreferNoSchedule
		if !isOurs && !isSoft && t.Key != corev1.TaintNodeUnschedulable && !tolerates(pod, t) {
			return true
		}
	}
	return false
}

// missing is what the Node has too little of.
func (n *placeNode) missing(pod *corev1.Pod) []string {
	var reasons []string
	limit, isLimited := n.node.Status.Allocatable[corev1.ResourcePods]
	if isLimited && limit.CmpInt64(int64(len(n.pods))) <= 0 {
		reasons = append(reasons, "Too many pods")
	}
	for name, quantity := range requestsOf(pod) {
		if quantity.IsZero() {
			continue
		}
		sum := quantity.DeepCopy()
		sum.Add(n.used[name])
		if has := n.node.Status.Allocatable[name]; sum.Cmp(has) > 0 {
			reasons = append(reasons, "Insufficient "+string(name))
		}
	}
	return reasons
}

func affinityTerms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func antiAffinityTerms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func (c *Cluster) affinityAgainst(n *placeNode, pod *corev1.Pod) []string {
	if !c.isNearEnough(n.node, pod) {
		return []string{"node(s) didn't match pod affinity rules"}
	}
	for _, term := range antiAffinityTerms(pod) {
		if c.countIn(n.node, term.TopologyKey, func(other *corev1.Pod) bool { return c.selects(&term, pod, other) }) > 0 {
			return []string{"node(s) didn't match pod anti-affinity rules"}
		}
	}
	for _, shy := range c.shy {
		for _, term := range antiAffinityTerms(shy.pod) {
			if isSameDomain(n.node, shy.node, term.TopologyKey) && c.selects(&term, shy.pod, pod) {
				return []string{"node(s) didn't satisfy existing pods anti-affinity rules"}
			}
		}
	}
	return nil
}

// isNearEnough: each term has a pod in the Node's domain, and that pod is one that all terms select. The first of a
// group, which all its terms select and nobody else yet, may be anywhere where there is a domain.
func (c *Cluster) isNearEnough(node *corev1.Node, pod *corev1.Pod) bool {
	terms := affinityTerms(pod)
	selected := func(other *corev1.Pod) bool {
		for i := range terms {
			if !c.selects(&terms[i], pod, other) {
				return false
			}
		}
		return true
	}
	near, anywhere := true, 0
	for _, term := range terms {
		if _, ok := node.Labels[term.TopologyKey]; !ok {
			return false
		}
		near = near && c.countIn(node, term.TopologyKey, selected) > 0
		anywhere += c.countAnywhere(term.TopologyKey, selected)
	}
	return near || (anywhere == 0 && selected(pod))
}

func isSameDomain(a, b *corev1.Node, key string) bool {
	value, ok := a.Labels[key]
	other, also := b.Labels[key]
	return ok && also && value == other
}

// countIn counts pods on all Nodes of the Node's domain.
func (c *Cluster) countIn(node *corev1.Node, key string, is func(*corev1.Pod) bool) int {
	count := 0
	for _, n := range c.nodes {
		if isSameDomain(n.node, node, key) {
			count += countPods(n, is)
		}
	}
	return count
}

// countAnywhere counts pods on all Nodes that have such a domain.
func (c *Cluster) countAnywhere(key string, is func(*corev1.Pod) bool) int {
	count := 0
	for _, n := range c.nodes {
		if _, ok := n.node.Labels[key]; ok {
			count += countPods(n, is)
		}
	}
	return count
}

func countPods(n *placeNode, is func(*corev1.Pod) bool) int {
	count := 0
	for _, pod := range n.pods {
		if is(pod) {
			count++
		}
	}
	return count
}

// selects: does a term of `owner` select the other pod?
func (c *Cluster) selects(term *corev1.PodAffinityTerm, owner, other *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	if err != nil || !selector.Matches(labels.Set(other.Labels)) {
		return false
	}
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return owner.Namespace == other.Namespace
	}
	if slices.Contains(term.Namespaces, other.Namespace) {
		return true
	}
	namespaces, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	return err == nil && namespaces.Matches(c.namespaces[other.Namespace])
}
