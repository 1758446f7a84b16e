package input

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	specdump "k8s.io/utils/dump"
)

// Template is a pod of which there are to be some. They differ in what Nth sets.
type Template struct {
	Pod *v1.Pod `json:"pod"`
	// Count is the number of pods; 0 means 1.
	Count int `json:"count,omitempty"`
	// Ordinals (optional) is how a controller numbers its pods.
	Ordinals *Ordinals `json:"ordinals,omitempty"`
}

// Ordinals say how the pods of a StatefulSet or of an indexed Job are numbered.
type Ordinals struct {
	// Start is the number of the first pod.
	Start int `json:"start,omitempty"`
	// IndexLabel (optional) is the label that has the pod's number as its value, NameLabel the one that
	// has its name.
	IndexLabel string `json:"indexLabel,omitempty"`
	NameLabel  string `json:"nameLabel,omitempty"`
}

// Nth returns the pod with this number, from 0: a copy with a name and labels of its own.
func (t *Template) Nth(n int) *v1.Pod {
	pod := *t.Pod
	switch o := t.Ordinals; {
	case o != nil:
		pod = *t.Pod.DeepCopy()
		number := strconv.Itoa(o.Start + n)
		pod.Name += "-" + number
		if pod.Labels == nil {
			pod.Labels = make(map[string]string)
		}
		if o.IndexLabel != "" {
			pod.Labels[o.IndexLabel] = number
		}
		if o.NameLabel != "" {
			pod.Labels[o.NameLabel] = pod.Name
		}
		mergeMatchLabelKeys(&pod)
	case pod.GenerateName != "":
		pod.Name = pod.GenerateName + strconv.Itoa(n)
	case t.Count > 1:
		pod.Name += "-" + strconv.Itoa(n)
	}
	return &pod
}

// made is what a controller makes: pods, and the object that owns them.
type made struct {
	Template
	path  string // of the template
	owner metav1.Object
	// claims are the templates of claims of each pod.
	claims []v1.PersistentVolumeClaim
	// selector is that of the pods; nil for those of Jobs.
	selector *metav1.LabelSelector
}

// makes returns what a controller makes of its object; ok is false for objects that make no pods. The pod has no defaults yet.
func makes(o object) (m made, ok bool) {
	switch x := o.Object.(type) {
	case *appsv1.Deployment:
		return ofDeployment(x), true
	case *appsv1.ReplicaSet:
		return of(x, &x.Spec.Template, *orOne(x.Spec.Replicas), x.Spec.Selector), true
	case *v1.ReplicationController:
		return of(x, x.Spec.Template, *orOne(x.Spec.Replicas), &metav1.LabelSelector{MatchLabels: x.Spec.Selector}), true
	case *appsv1.StatefulSet:
		return ofStatefulSet(x), true
	case *batchv1.Job:
		return ofJob(x), true
	case *batchv1.CronJob:
		return ofCronJob(x), true
	}
	return made{}, false
}

// of makes pods of a template, with names that end in a random part in a cluster, and in a number here.
func of(owner metav1.Object, template *v1.PodTemplateSpec, replicas int32, selector *metav1.LabelSelector) made {
	m := made{owner: owner, path: "spec.template", selector: selector, Template: Template{Count: int(replicas)}}
	if template == nil {
		return m
	}
	m.Pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: owner.GetNamespace(), GenerateName: generated(owner.GetName()),
		Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations), Finalizers: template.Finalizers,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.(runtime.Object).GetObjectKind().GroupVersionKind())},
	}, Spec: *template.Spec.DeepCopy()}
	m.Pod.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Pod"))
	return m
}

// generated is the beginning of a generated name, which leaves room for five letters.
func generated(owner string) string {
	const most = 63 - 5
	return (owner + "-")[:min(len(owner)+1, most)]
}

// hashOf is the hash of a template by the controllers' algorithm (ComputeHash in pkg/controller of k8s.io/kubernetes). In a cluster
// the template has all defaults, so the hash there is another; like there, equal templates have equal ones.
func hashOf(template *v1.PodTemplateSpec) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%v", specdump.ForHash(*template))
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// label sets a label of the pods.
func (m *made) label(key, value string) {
	if m.Pod.Labels == nil {
		m.Pod.Labels = make(map[string]string)
	}
	m.Pod.Labels[key] = value
}

// ofDeployment makes the pods of a Deployment's ReplicaSet.
func ofDeployment(d *appsv1.Deployment) made {
	hash := hashOf(&d.Spec.Template)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-" + hash, Labels: withLabel(d.Spec.Template.Labels, hash)}}
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	set.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	defaultMeta(&set.ObjectMeta, "ReplicaSet", true)
	set.Spec.Replicas, set.Spec.Selector = orOne(d.Spec.Replicas), d.Spec.Selector.DeepCopy()
	if set.Spec.Selector != nil {
		set.Spec.Selector.MatchLabels = withLabel(set.Spec.Selector.MatchLabels, hash)
	}
	set.Spec.Template = *d.Spec.Template.DeepCopy()
	set.Spec.Template.Labels = withLabel(set.Spec.Template.Labels, hash)
	m := of(set, &set.Spec.Template, *set.Spec.Replicas, d.Spec.Selector)
	return m
}

func withLabel(labels map[string]string, hash string) map[string]string {
	out := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	maps.Copy(out, labels)
	out[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return out
}

func ofStatefulSet(s *appsv1.StatefulSet) made {
	m := of(s, &s.Spec.Template, *orOne(s.Spec.Replicas), s.Spec.Selector)
	m.Pod.Name, m.Pod.GenerateName, m.Pod.Spec.Subdomain = s.Name, "", s.Spec.ServiceName
	m.label(appsv1.ControllerRevisionHashLabelKey, s.Name+"-"+hashOf(&s.Spec.Template))
	m.claims = s.Spec.VolumeClaimTemplates
	m.Ordinals = &Ordinals{IndexLabel: appsv1.PodIndexLabel, NameLabel: appsv1.StatefulSetPodNameLabel}
	if s.Spec.Ordinals != nil {
		m.Ordinals.Start = int(s.Spec.Ordinals.Start)
	}
	return m
}

// ofJob makes the pods that a Job begins with.
func ofJob(j *batchv1.Job) made {
	replicas := *orOne(j.Spec.Parallelism)
	if j.Spec.Completions != nil {
		replicas = min(replicas, *j.Spec.Completions)
	}
	if j.Spec.Suspend != nil && *j.Spec.Suspend {
		replicas = 0
	}
	m := of(j, &j.Spec.Template, replicas, nil)
	if j.Spec.ManualSelector == nil || !*j.Spec.ManualSelector {
		for key, value := range map[string]string{
			"job-name": j.Name, batchv1.JobNameLabel: j.Name, "controller-uid": string(j.UID), batchv1.ControllerUidLabel: string(j.UID),
		} {
			if _, given := m.Pod.Labels[key]; !given {
				m.label(key, value)
			}
		}
	}
	if j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion {
		m.Pod.Name, m.Pod.GenerateName = j.Name, ""
		m.Ordinals = &Ordinals{IndexLabel: batchv1.JobCompletionIndexAnnotation}
	}
	return m
}

// ofCronJob makes the pods of one run of a CronJob.
func ofCronJob(c *batchv1.CronJob) made {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Namespace, Name: c.Name + "-0", Labels: c.Spec.JobTemplate.Labels, Annotations: c.Spec.JobTemplate.Annotations,
	}, Spec: c.Spec.JobTemplate.Spec}
	j.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	defaultMeta(&j.ObjectMeta, "Job", true)
	m := ofJob(j)
	m.path = "spec.jobTemplate.spec.template"
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		m.Count = 0
	}
	return m
}

// idle says why a controller of no pods makes none.
func (m *made) idle(o object) string {
	why := "has 0 replicas"
	suspended := func(s *bool) bool { return s != nil && *s }
	if j, ok := m.owner.(*batchv1.Job); ok {
		c, cron := o.Object.(*batchv1.CronJob)
		switch {
		case cron && suspended(c.Spec.Suspend) || !cron && suspended(j.Spec.Suspend):
			why = "is suspended"
		case suspended(j.Spec.Suspend):
			why = "makes suspended Jobs"
		case *orOne(j.Spec.Parallelism) == 0:
			why = "has a parallelism of 0"
		default:
			why = "has 0 completions"
		}
	}
	return fmt.Sprintf("%s %s/%s %s", kindOf(o), o.meta.Namespace, o.meta.Name, why)
}

// prepare sets the defaults of the pod, and checks it and the controller. Paths in errors are those of the controller's object.
func (m *made) prepare(o object) []*Error {
	switch {
	case m.Pod == nil:
		return []*Error{o.place.at(nil, m.path, "it is missing", "write the pods' template")}
	case m.Count < 0 || m.Count > maxReplicas:
		return []*Error{o.place.at(nil, "spec.replicas", fmt.Sprintf("%d is not between 0 and %d", m.Count, maxReplicas), "write fewer")}
	}
	return append(m.refused(o), prepareTemplate(o, m.Pod, m.path)...)
}

// maxReplicas is the most pods of one controller.
const maxReplicas = 100_000

// prepareTemplate sets the defaults of the pod of a template, and checks it. A name that is still to be generated is left out.
func prepareTemplate(o object, pod *v1.Pod, path string) []*Error {
	of := object{Object: pod, meta: &pod.ObjectMeta, place: o.place}
	of.place.steps = slices.Concat(o.place.steps, strings.FieldsFunc(path, func(c rune) bool { return c == '.' }))
	name := pod.Name
	if name == "" {
		pod.Name = "p" // only for the check
	}
	errs := prepare(of, nil)
	pod.Name, pod.UID = name, ""
	for _, e := range errs {
		e.Path = path + "." + e.Path
	}
	return errs
}

// all returns the pods from a number on, and their claims.
func (m *made) all(from int) (pods []*v1.Pod, claims []*v1.PersistentVolumeClaim) {
	for n := from; n < m.Count; n++ {
		pod := m.Nth(n)
		if len(m.claims) > 0 || m.Ordinals == nil {
			pod = pod.DeepCopy()
		}
		for i := range m.claims {
			claim := m.claims[i].DeepCopy()
			claim.Namespace, claim.Name = pod.Namespace, claim.Name+"-"+pod.Name
			claim.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
			claims = append(claims, claim)
			source := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}
			pod.Spec.Volumes = append(slices.DeleteFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Name == m.claims[i].Name }),
				v1.Volume{Name: m.claims[i].Name, VolumeSource: source})
		}
		pods = append(pods, pod)
	}
	return pods, claims
}
