{{- /* Invalid combinations of values. Each message says what to do. */}}
{{- define "rescheduler.validate" -}}
{{- $v := .Values }}
{{- include "holdfast.validate" . }}
{{- include "holdfast.validateWebhook" . }}
{{- if and $v.scheduler.enabled (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "scheduler.enabled: the scheduler is built from Kubernetes 1.36, and the API server is %s: a scheduler must not be newer than the API server. The rescheduler works without the scheduler" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- end }}

{{- /* A rule of the manager's generated role, without the permissions that only disabled features need. Empty if no permissions remain.
       Argument: {"rule": ..., "context": .}. */}}
{{- define "rescheduler.granted" -}}
{{- $v := .context.Values }}
{{- $config := dig "rescheduling" (dict) $v.config }}
{{- $taints := and (dig "blame" "taint" false $config) (not (dig "dryRun" false $config)) }}
{{- $recreates := dig "barePods" "recreate" false $config }}
{{- $ownsCertificates := and $v.webhook.enabled (eq $v.certificates.mode "internal") }}
{{- $serves := and $v.metrics.enabled $v.metrics.secure }}
{{- $rule := deepCopy .rule }}
{{- $rules := list $rule }}
{{- $resource := last $rule.resources }}
{{- if and (eq $resource "nodes") (not $taints) }}
{{- $_ := set $rule "resources" (without $rule.resources "nodes") }}
{{- $rules = append $rules (dict "apiGroups" $rule.apiGroups "resources" (list "nodes") "verbs" (without $rule.verbs "patch")) }}
{{- else if and (eq $resource "pods") (not $recreates) }}
{{- $_ := set $rule "verbs" (without $rule.verbs "create" "delete") }}
{{- end }}
{{- $certificates := has $resource (list "secrets" "mutatingwebhookconfigurations") }}
{{- $reviews := has $resource (list "tokenreviews" "subjectaccessreviews") }}
{{- if not (or (and $certificates (not $ownsCertificates)) (and $reviews (not $serves)) (and (eq $resource "leases") (not $v.leaderElection.enabled))) }}
{{- toYaml $rules }}
{{- end }}
{{- end }}
