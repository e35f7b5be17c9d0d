// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// world is a pod that lives: each look is what podsim does at that moment.
type world struct {
	pod   *corev1.Pod
	since time.Time
	again time.Duration
}

func newWorld(annotations map[string]string) *world {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", Annotations: annotations}}
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "img:1"}, {Name: "side", Image: "img:2"}}
	return &world{pod: pod, since: start}
}

func (w *world) set(name, value string) { w.pod.Annotations[name] = value }

func (w *world) at(after time.Duration) *corev1.PodStatus {
	wanted := WantedStatus(w.pod, StatusInput{Now: start.Add(after), Since: w.since, Delay: time.Second, PodIP: "10.128.0.1", HostIP: "10.0.0.1"})
	if wanted.Restarted {
		w.since = start.Add(after)
	}
	w.pod.Status, w.again = *wanted.Status, wanted.Again
	return &w.pod.Status
}

func condition(status *corev1.PodStatus, kind corev1.PodConditionType) string {
	for _, c := range status.Conditions {
		if c.Type == kind {
			return string(c.Status) + "/" + c.Reason
		}
	}
	return ""
}

func check(t *testing.T, status *corev1.PodStatus, phase corev1.PodPhase, ready string) {
	t.Helper()
	if got := condition(status, corev1.PodReady); status.Phase != phase || got != ready {
		t.Fatalf("%s, Ready %s; want %s, %s", status.Phase, got, phase, ready)
	}
}

func checkCount(t *testing.T, status *corev1.ContainerStatus, restarts, code int32, reason string) {
	t.Helper()
	last := status.LastTerminationState.Terminated
	if status.RestartCount != restarts || last == nil || last.ExitCode != code || last.Reason != reason {
		t.Fatalf("restartCount %d, lastState %+v; want %d with code %d, %s", status.RestartCount, last, restarts, code, reason)
	}
}

func TestPodBecomesReadyAfterItsDelay(t *testing.T) {
	w := newWorld(map[string]string{})
	check(t, w.at(0), corev1.PodPending, "False/ContainersNotReady")
	if w.again != time.Second {
		t.Fatalf("again %v", w.again)
	}
	check(t, w.at(time.Second), corev1.PodRunning, "True/")
	if w.again != 0 {
		t.Fatalf("a settled pod is looked at again after %v", w.again)
	}
}

func TestCrashIsCountedOnceAndThePodComesBack(t *testing.T) {
	w := newWorld(map[string]string{})
	w.at(0)
	w.at(time.Second)
	w.set(annotationCrashes, "1")
	status := w.at(10 * time.Second)
	check(t, status, corev1.PodRunning, "False/ContainersNotReady")
	checkCount(t, &status.ContainerStatuses[0], 1, 1, "Error")
	if last := status.ContainerStatuses[0].LastTerminationState.Terminated; last.StartedAt.Time != start.Add(time.Second) || last.FinishedAt.Time != start.Add(10*time.Second) {
		t.Fatalf("ran from %v to %v", last.StartedAt, last.FinishedAt)
	}
	if other := status.ContainerStatuses[1]; other.RestartCount != 0 || !other.Ready {
		t.Fatalf("the other container: %+v", other)
	}
	if w.again != time.Second {
		t.Fatalf("again %v", w.again)
	}
	check(t, w.at(10500*time.Millisecond), corev1.PodRunning, "False/ContainersNotReady")
	status = w.at(11 * time.Second)
	check(t, status, corev1.PodRunning, "True/")
	checkCount(t, &status.ContainerStatuses[0], 1, 1, "Error")
	w.set(annotationCrashes, "3")
	w.set(annotationCrashCode, "137")
	w.set(annotationCrashReason, "OOMKilled")
	w.set(annotationCrashContainer, "side")
	status = w.at(20 * time.Second)
	checkCount(t, &status.ContainerStatuses[1], 3, 137, "OOMKilled")
	check(t, w.at(21*time.Second), corev1.PodRunning, "True/")
}

// As in a template: each pod of it crashes once, when it is up.
func TestCrashThatWasAskedForBeforeWaitsUntilTheContainerIsUp(t *testing.T) {
	w := newWorld(map[string]string{annotationCrashes: "1"})
	if status := w.at(0); status.ContainerStatuses[0].RestartCount != 0 {
		t.Fatal("it crashed before it began")
	}
	status := w.at(time.Second)
	check(t, status, corev1.PodRunning, "False/ContainersNotReady")
	checkCount(t, &status.ContainerStatuses[0], 1, 1, "Error")
	check(t, w.at(2*time.Second), corev1.PodRunning, "True/")
}

func TestInitContainerCrashesWhileThePodIsPending(t *testing.T) {
	w := newWorld(map[string]string{annotationCrashes: "1", annotationCrashContainer: "second"})
	w.pod.Spec.InitContainers = []corev1.Container{{Name: "first"}, {Name: "second"}, {Name: "third"}}
	status := w.at(0)
	check(t, status, corev1.PodPending, "False/ContainersNotReady")
	checkCount(t, &status.InitContainerStatuses[1], 1, 1, "Error")
	if status.InitContainerStatuses[0].State.Terminated == nil || status.InitContainerStatuses[1].State.Running == nil ||
		status.InitContainerStatuses[2].State.Waiting == nil {
		t.Fatalf("%+v", status.InitContainerStatuses)
	}
	if got := condition(status, corev1.PodInitialized); got != "False/ContainersNotInitialized" {
		t.Fatal(got)
	}
	status = w.at(time.Second)
	check(t, status, corev1.PodRunning, "True/")
	checkCount(t, &status.InitContainerStatuses[1], 1, 1, "Error")
	if end := status.InitContainerStatuses[1].State.Terminated; end == nil || end.ExitCode != 0 {
		t.Fatalf("%+v", status.InitContainerStatuses[1].State)
	}
}

func TestWhatIsNotRestartedStaysDown(t *testing.T) {
	w := newWorld(map[string]string{annotationCrashes: "1", annotationCrashCode: "3"})
	w.pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.at(0)
	status := w.at(time.Second)
	check(t, status, corev1.PodRunning, "False/ContainersNotReady")
	if end := status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 3 || status.ContainerStatuses[0].RestartCount != 0 {
		t.Fatalf("%+v", status.ContainerStatuses[0])
	}
	w = newWorld(map[string]string{annotationCrashes: "1"})
	w.pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.pod.Spec.Containers = w.pod.Spec.Containers[:1]
	w.at(0)
	check(t, w.at(time.Second), corev1.PodFailed, "False/PodFailed")
	w = newWorld(map[string]string{annotationCrashes: "1", annotationCrashContainer: "first"})
	w.pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.pod.Spec.InitContainers = []corev1.Container{{Name: "first"}}
	w.at(0)
	check(t, w.at(time.Second), corev1.PodFailed, "False/PodFailed")
}

func TestCrashLoopWaitsAndCounts(t *testing.T) {
	w := newWorld(map[string]string{annotationWaiting: crashLooping, annotationCrashes: "4"})
	status := w.at(0)
	check(t, status, corev1.PodRunning, "False/ContainersNotReady")
	checkCount(t, &status.ContainerStatuses[0], 4, 1, "Error")
	if waiting := status.ContainerStatuses[0].State.Waiting; waiting == nil || waiting.Reason != crashLooping {
		t.Fatalf("%+v", status.ContainerStatuses[0].State)
	}
}

func TestSlowLoadIsRunningButNotReady(t *testing.T) {
	w := newWorld(map[string]string{annotationLoad: "90s"})
	w.at(0)
	check(t, w.at(time.Second), corev1.PodRunning, "False/ContainersNotReady")
	if w.again != 90*time.Second {
		t.Fatalf("again %v", w.again)
	}
	check(t, w.at(91*time.Second), corev1.PodRunning, "True/")
}

func TestFlappingPodTakesTurns(t *testing.T) {
	w := newWorld(map[string]string{annotationFlap: "5s"})
	w.at(0)
	check(t, w.at(time.Second), corev1.PodRunning, "True/")
	check(t, w.at(7*time.Second), corev1.PodRunning, "False/ContainersNotReady")
	if w.again != 4*time.Second {
		t.Fatalf("again %v", w.again)
	}
	check(t, w.at(11*time.Second), corev1.PodRunning, "True/")
}

func TestHeldPodIsNeverReady(t *testing.T) {
	w := newWorld(map[string]string{annotationHold: "unready", annotationFlap: "5s"})
	w.at(0)
	check(t, w.at(time.Second), corev1.PodRunning, "False/ContainersNotReady")
	if w.again != 0 {
		t.Fatalf("again %v", w.again)
	}
}

func TestImageThatCannotBeHad(t *testing.T) {
	w := newWorld(map[string]string{})
	w.pod.Spec.Containers[1].Image = "img:bad"
	w.at(0)
	status := w.at(time.Second)
	check(t, status, corev1.PodPending, "False/ContainersNotReady")
	if waiting := status.ContainerStatuses[1].State.Waiting; waiting == nil || waiting.Reason != "ImagePullBackOff" {
		t.Fatalf("%+v", status.ContainerStatuses[1].State)
	}
	w = newWorld(map[string]string{annotationWaiting: "ErrImagePull"})
	check(t, w.at(time.Second), corev1.PodPending, "False/ContainersNotReady")
}

func TestEvictedPodHasFailedForGood(t *testing.T) {
	w := newWorld(map[string]string{})
	w.at(0)
	w.at(time.Second)
	w.set(annotationEvict, "true")
	status := w.at(5 * time.Second)
	check(t, status, corev1.PodFailed, "False/PodFailed")
	if status.Reason != "Evicted" || condition(status, corev1.DisruptionTarget) != "True/TerminationByKubelet" {
		t.Fatalf("%s, %s", status.Reason, condition(status, corev1.DisruptionTarget))
	}
	if end := status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 137 || end.StartedAt.Time != start.Add(time.Second) {
		t.Fatalf("%+v", status.ContainerStatuses[0].State)
	}
	delete(w.pod.Annotations, annotationEvict)
	check(t, w.at(9*time.Second), corev1.PodFailed, "False/PodFailed")
}

func TestExitCodeEndsAPod(t *testing.T) {
	w := newWorld(map[string]string{annotationExit: "0"})
	w.at(0)
	check(t, w.at(time.Second), corev1.PodSucceeded, "False/PodCompleted")
	w = newWorld(map[string]string{annotationExit: "2"})
	w.at(0)
	check(t, w.at(time.Second), corev1.PodFailed, "False/PodFailed")
}

func TestPodOfALostNodeIsOnlyNotReady(t *testing.T) {
	w := newWorld(map[string]string{})
	w.at(0)
	w.at(time.Second)
	status := LostStatus(w.pod, start.Add(time.Minute))
	check(t, status, corev1.PodRunning, "False/")
	if condition(status, corev1.ContainersReady) != "True/" || !status.ContainerStatuses[0].Ready {
		t.Fatalf("%+v", status)
	}
}

func TestUnschedulableKeepsTheTimeOfAGatedPod(t *testing.T) {
	w := newWorld(map[string]string{})
	then := metav1.NewTime(start)
	w.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated", LastTransitionTime: then}}
	status := Unschedulable(w.pod, "0/1 nodes are available: 1 Insufficient cpu.", start.Add(time.Hour))
	if c := status.Conditions[0]; c.Reason != "Unschedulable" || c.Message == "" || c.LastTransitionTime != then {
		t.Fatalf("%+v", c)
	}
}
