package config

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

func defaultDevices(a *configv1.DynamicResourcesArgs) {
	if a.FilterTimeout == nil {
		a.FilterTimeout = &metav1.Duration{Duration: configv1.DynamicResourcesFilterTimeoutDefault}
	}
	if a.BindingTimeout == nil {
		a.BindingTimeout = &metav1.Duration{Duration: configv1.DynamicResourcesBindingTimeoutDefault}
	}
}

func checkDevices(r *report, path *field.Path, a *configv1.DynamicResourcesArgs) {
	if t := a.FilterTimeout.Duration; t < 0 {
		r.add(path.Child("filterTimeout"), fmt.Sprintf("%v is negative", t), "give a duration, or 0s for no limit")
	}
	if t := a.BindingTimeout.Duration; t < time.Second {
		r.add(path.Child("bindingTimeout"), fmt.Sprintf("%v is too short", t), "give at least 1s")
	}
}
