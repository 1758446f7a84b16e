{{- /* The configuration file, with the Lease of this release. */ -}}
{{- define "berth.config" -}}
{{- $lease := dict "leaderElect" true "resourceNamespace" .Release.Namespace "resourceName" .Values.lease.name -}}
{{- $head := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" "leaderElection" $lease -}}
{{- toYaml (merge $head .Values.config) -}}
{{- end -}}
{{- define "berth.configName" -}}
{{- print "berth-config-" (include "berth.config" . | sha256sum | trunc 10) -}}
{{- end -}}
{{- /* The names of the Leases of the profiles, as in kube.ProfileLease. */ -}}
{{- define "berth.profileLeases" -}}
{{- $names := list "berth-profile-default-scheduler" -}}
{{- range .Values.config.profiles -}}
{{- $profile := default "default-scheduler" .schedulerName -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$" $profile) -}}
{{- $profile = sha256sum $profile -}}
{{- end -}}
{{- $names = append $names (print "berth-profile-" $profile) -}}
{{- end -}}
{{- $names | uniq | sortAlpha | join ", " -}}
{{- end -}}
