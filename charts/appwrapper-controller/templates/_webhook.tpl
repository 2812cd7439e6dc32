{{- /* Names of the published installation, which the manager and other projects look for. */}}
{{- define "appwrapper-controller.webhookService" -}}
appwrapper-webhook-service
{{- end }}

{{- define "appwrapper-controller.certificateSecret" -}}
{{- if eq .Values.certificates.mode "existingSecret" }}
{{- .Values.certificates.existingSecret }}
{{- else -}}
appwrapper-webhook-server-cert
{{- end }}
{{- end }}

{{- define "appwrapper-controller.certificate" -}}
{{ include "appwrapper-controller.fullname" . | trunc 55 | trimSuffix "-" }}-webhook
{{- end }}

{{- define "appwrapper-controller.certificateFolder" -}}
/tmp/k8s-webhook-server/serving-certs
{{- end }}

{{- /* Requests that are let through unseen. A recovery must not wait for the webhook that validates what users write, and
nothing has to be valid to be deleted. */}}
{{- define "appwrapper-controller.webhookConditions" -}}
- name: not-by-the-release-itself
  expression: request.userInfo.username != 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "appwrapper-controller.serviceAccountName" . }}'
- name: not-being-deleted
  expression: "!has(object.metadata.deletionTimestamp)"
{{- end }}

{{- define "appwrapper-controller.webhookArgs" -}}
- --webhooks
- --webhook-port={{ .Values.webhook.port }}
{{- if ne .Values.certificates.mode "internal" }}
- --webhook-cert-dir={{ include "appwrapper-controller.certificateFolder" . }} # somebody else keeps it
{{- end }}
{{- end }}
