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
{{- if and $v.webhook.enabled $v.admissionPolicy.enabled }}
{{- fail "admissionPolicy.enabled: it stands in for the webhook; set webhook.enabled to false" }}
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
{{- end }}

{{- /* The manager's file, with what the chart itself decides. */}}
{{- define "rescheduler.config" -}}
{{- $config := deepCopy .Values.config }}
{{- if .Values.admissionPolicy.enabled }}
{{- $config = mergeOverwrite $config (dict "rescheduling" (dict "admission" (dict "way" "Policy"))) }}
{{- end }}
{{- with $config }}{{ toYaml . }}{{ end }}
{{- end }}
