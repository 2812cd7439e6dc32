{{- define "rescheduler.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "rescheduler.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "rescheduler.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "rescheduler.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "rescheduler.labels" -}}
{{ include "rescheduler.selectorLabels" . }}
{{ include "rescheduler.releaseLabels" . }}
{{- end }}

{{- define "rescheduler.releaseLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: holdfast
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "rescheduler.selectorLabels" -}}
app.kubernetes.io/name: {{ include "rescheduler.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end }}

{{- /* The reference of an image: {"image": ..., "context": .}. A digest wins over a tag. */}}
{{- define "rescheduler.image" -}}
{{- $image := .image }}
{{- if $image.registry }}{{ $image.registry }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .context.Chart.AppVersion $image.tag }}{{ end }}
{{- end }}

{{- /* Values that do not fit together, each with what to do about it. */}}
{{- define "rescheduler.validate" -}}
{{- $v := .Values }}
{{- if and (gt (int $v.replicaCount) 1) (not $v.leaderElection.enabled) }}
{{- fail "replicaCount: more than one manager needs leaderElection.enabled" }}
{{- end }}
{{- if and $v.webhook.enabled $v.metrics.enabled (eq (int $v.webhook.port) (int $v.metrics.port)) }}
{{- fail "webhook.port: it is that of metrics.port" }}
{{- end }}
{{- $existing := eq $v.certificates.mode "existingSecret" }}
{{- if and $existing (not (and $v.certificates.existingSecret $v.certificates.caBundle)) }}
{{- fail "certificates: mode existingSecret needs existingSecret, with tls.crt and tls.key, and caBundle, which the API server is to trust" }}
{{- end }}
{{- if and (not $existing) (or $v.certificates.existingSecret $v.certificates.caBundle) }}
{{- fail "certificates: existingSecret and caBundle are for mode existingSecret" }}
{{- end }}
{{- if and $v.certManager.issuerRef.name (ne $v.certificates.mode "certManager") }}
{{- fail "certManager.issuerRef: it is for certificates.mode certManager" }}
{{- end }}
{{- if and $v.podDisruptionBudget.enabled (eq (kindIs "invalid" $v.podDisruptionBudget.minAvailable) (kindIs "invalid" $v.podDisruptionBudget.maxUnavailable)) }}
{{- fail "podDisruptionBudget: set exactly one of minAvailable and maxUnavailable, the other to null" }}
{{- end }}
{{- if and $v.scheduler.enabled (semverCompare "<1.36.0-0" .Capabilities.KubeVersion.Version) }}
{{- fail (printf "scheduler.enabled: the scheduler is of Kubernetes 1.36 and the API server is %s: a scheduler must not be newer. The rescheduler works without it" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- end }}

{{- /* The manager's file. */}}
{{- define "rescheduler.config" -}}
{{- with .Values.config }}{{ toYaml . }}{{ end }}
{{- end }}

{{- /* A rule of the manager's generated role without the rights that only features need which are off; empty: nothing is left of it. The
       argument: {"rule": ..., "context": .}. */}}
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
