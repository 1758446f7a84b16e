{{- /* The configuration file, with the Lease of this release. */ -}}
{{- define "berth.config" -}}
{{- $lease := dict "leaderElect" true "resourceNamespace" .Release.Namespace "resourceName" .Values.lease.name -}}
{{- $head := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" "leaderElection" $lease -}}
{{- toYaml (merge $head .Values.config) -}}
{{- end -}}
