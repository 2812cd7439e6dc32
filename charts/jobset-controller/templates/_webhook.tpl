{{- /* Names of the published installation, which the manager and other projects look for. */}}
{{- define "jobset-controller.webhookService" -}}
jobset-webhook-service
{{- end }}

{{- define "jobset-controller.certificateSecret" -}}
{{- if eq .Values.certificates.mode "existingSecret" }}
{{- .Values.certificates.existingSecret }}
{{- else -}}
jobset-webhook-server-cert
{{- end }}
{{- end }}

{{- define "jobset-controller.certificate" -}}
{{ include "jobset-controller.fullname" . | trunc 55 | trimSuffix "-" }}-webhook
{{- end }}

{{- define "jobset-controller.certificateFolder" -}}
/tmp/k8s-webhook-server/serving-certs
{{- end }}

{{- /* Requests that are let through unseen. A recovery must not wait for the webhook that validates what users write, and
nothing has to be valid to be deleted. */}}
{{- define "jobset-controller.webhookConditions" -}}
- name: not-by-the-release-itself
  expression: request.userInfo.username != 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "jobset-controller.serviceAccountName" . }}'
- name: not-being-deleted
  expression: "!has(object.metadata.deletionTimestamp)"
{{- end }}

{{- define "jobset-controller.webhookArgs" -}}
- --webhooks
- --webhook-port={{ .Values.webhook.port }}
{{- if ne .Values.certificates.mode "internal" }}
- --webhook-cert-dir={{ include "jobset-controller.certificateFolder" . }} # somebody else keeps it
{{- end }}
{{- end }}
