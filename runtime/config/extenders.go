package config

import (
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// checkExtenders applies kube-scheduler's rules: a prioritize verb needs a weight, at most one
// extender binds, and each resource is managed at most once. In addition, an extender with any
// verb needs a URL, and the timeout must not be negative, which would mean none.
func checkExtenders(r *report, path *field.Path, extenders []configv1.Extender) {
	binder := -1
	managed := map[string]string{}
	for i, e := range extenders {
		at := path.Index(i)
		checkConnection(r, at, &e)
		if e.PrioritizeVerb != "" && e.Weight <= 0 {
			r.add(at.Child("weight"), fmt.Sprintf("the weight of an extender with prioritizeVerb is %d", e.Weight), "give a positive weight")
		}
		if e.BindVerb != "" {
			if binder >= 0 {
				r.add(at.Child("bindVerb"), fmt.Sprintf("extenders[%d] binds already", binder), "only one extender can bind")
			} else {
				binder = i
			}
		}
		for j, resource := range e.ManagedResources {
			name := at.Child("managedResources").Index(j).Child("name")
			checkExtendedResource(r, name, resource.Name)
			if first, ok := managed[resource.Name]; ok {
				r.add(name, fmt.Sprintf("resource %q is already managed by %s", resource.Name, first), "keep one of the entries")
			} else {
				managed[resource.Name] = text(name)
			}
		}
	}
}

func checkConnection(r *report, path *field.Path, e *configv1.Extender) {
	if e.FilterVerb != "" || e.PreemptVerb != "" || e.PrioritizeVerb != "" || e.BindVerb != "" {
		u, err := url.Parse(e.URLPrefix)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			r.add(path.Child("urlPrefix"), "it is not the URL of a service", "give one such as https://host:port/path")
		}
	}
	if t := e.HTTPTimeout.Duration; t < 0 {
		r.add(path.Child("httpTimeout"), fmt.Sprintf("%v is negative", t), "leave it out for the default, 5s")
	}
	tls := e.TLSConfig
	switch hasCA := tls != nil && (tls.CAFile != "" || len(tls.CAData) > 0); {
	case hasCA && tls.Insecure:
		r.add(path.Child("tlsConfig", "insecure"), "it cannot be combined with a CA", "leave one of them out")
	case e.EnableHTTPS && !hasCA:
		r.warn(path.Child("enableHTTPS"), "without a CA in tlsConfig, the extender's certificate is not verified")
	}
}

// checkExtendedResource checks the name of an extended resource: qualified, outside
// kubernetes.io, and usable in a quota ("requests." + name).
func checkExtendedResource(r *report, path *field.Path, name string) {
	const fix = "give a name such as example.com/gpu"
	if name == "" {
		r.add(path, "the resource name is missing", fix)
		return
	}
	if messages := validation.IsQualifiedName(name); len(messages) > 0 {
		for _, m := range messages {
			r.add(path, fmt.Sprintf("%q: %s", name, m), fix)
		}
		return
	}
	native := !strings.Contains(name, "/") || strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
	quota := validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix + name)
	if native || strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix) || len(quota) > 0 {
		r.add(path, fmt.Sprintf("%q is not an extended resource", name), fix)
	}
}
