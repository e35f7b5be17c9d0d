// SPDX-License-Identifier: Apache-2.0

// The operator's part of podsim: custom resources with pods. A definition that carries the label
//
//	podsim.truce.dev/workload: "true"
//
// and has the scale subresource is operated: each of its objects gets as many pods as its specReplicasPath says, named
// NAME-0, NAME-1 …, labelled app: NAME and owned by it, and its status gets the number of pods and their selector where
// the definition says, which is all that an autoscaler wants to see. Highest number first, pods that are too many go.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
)

const (
	workloadLabel    = "podsim.truce.dev/workload"
	workloadInterval = 300 * time.Millisecond
)

var crdResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

type workloads struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	pods    listersv1.PodLister
}

// workloadKind is what a definition says of its objects; paths are those of its scale subresource.
type workloadKind struct {
	resource                           schema.GroupVersionResource
	replicas, statusReplicas, selector []string
}

func (w *workloads) syncAll(ctx context.Context) error {
	crds, err := w.dynamic.Resource(crdResource).List(ctx, metav1.ListOptions{LabelSelector: workloadLabel + "=true"})
	if err != nil {
		return err
	}
	for i := range crds.Items {
		kind, ok := workloadKindOf(&crds.Items[i])
		if !ok {
			continue
		}
		objects, err := w.dynamic.Resource(kind.resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // not served yet, or not any more
		}
		if err != nil {
			return err
		}
		for j := range objects.Items {
			if err := w.sync(ctx, kind, &objects.Items[j]); err != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
	}
	return nil
}

func workloadKindOf(crd *unstructured.Unstructured) (workloadKind, bool) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok || version["storage"] != true {
			continue
		}
		name, _, _ := unstructured.NestedString(version, "name")
		scale, found, _ := unstructured.NestedStringMap(version, "subresources", "scale")
		return workloadKind{
			resource:       schema.GroupVersionResource{Group: group, Version: name, Resource: plural},
			replicas:       simplePath(scale["specReplicasPath"]),
			statusReplicas: simplePath(scale["statusReplicasPath"]),
			selector:       simplePath(scale["labelSelectorPath"]),
		}, found
	}
	return workloadKind{}, false
}

// simplePath reads ".spec.replicas", the only form that a scale subresource may have.
func simplePath(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}

func (w *workloads) sync(ctx context.Context, kind workloadKind, object *unstructured.Unstructured) error {
	want, _, err := unstructured.NestedInt64(object.Object, kind.replicas...)
	if err != nil || object.GetDeletionTimestamp() != nil {
		return err // the garbage collector has the pods
	}
	selector := labels.SelectorFromSet(labels.Set{"app": object.GetName()})
	pods, err := w.pods.Pods(object.GetNamespace()).List(selector)
	if err != nil {
		return err
	}
	if err := w.scale(ctx, kind, object, pods, int(want)); err != nil {
		return err
	}
	return w.writeStatus(ctx, kind, object, int64(len(pods)), selector.String())
}

func (w *workloads) scale(ctx context.Context, kind workloadKind, object *unstructured.Unstructured, pods []*corev1.Pod, want int) error {
	have := map[string]bool{}
	for _, pod := range pods {
		have[pod.Name] = true
	}
	for i := 0; i < want; i++ {
		name := fmt.Sprintf("%s-%d", object.GetName(), i)
		if have[name] {
			delete(have, name)
			continue
		}
		_, err := w.client.CoreV1().Pods(object.GetNamespace()).Create(ctx, newWorkloadPod(object, name), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for name := range have {
		err := w.client.CoreV1().Pods(object.GetNamespace()).Delete(ctx, name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func newWorkloadPod(object *unstructured.Unstructured, name string) *corev1.Pod {
	isController := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{"app": object.GetName()},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID(),
				Controller: &isController,
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name:      "main",
			Image:     "main:1",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
		}}},
	}
}

func (w *workloads) writeStatus(ctx context.Context, kind workloadKind, object *unstructured.Unstructured, pods int64, selector string) error {
	oldPods, _, _ := unstructured.NestedInt64(object.Object, kind.statusReplicas...)
	oldSelector, hasSelector, _ := unstructured.NestedString(object.Object, kind.selector...)
	if oldPods == pods && (kind.selector == nil || (hasSelector && oldSelector == selector)) {
		return nil
	}
	changed := object.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, pods, kind.statusReplicas...); err != nil {
		return err
	}
	if kind.selector != nil {
		if err := unstructured.SetNestedField(changed.Object, selector, kind.selector...); err != nil {
			return err
		}
	}
	_, err := w.dynamic.Resource(kind.resource).Namespace(object.GetNamespace()).UpdateStatus(ctx, changed,
		metav1.UpdateOptions{FieldManager: "engine-operator"})
	return err
}
