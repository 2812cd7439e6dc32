{{- /* Invalid combinations of values. Each message says what to do. */}}
{{- define "appwrapper-controller.validate" -}}
{{- $v := .Values }}
{{- include "holdfast.validate" . }}
{{- include "holdfast.validateWebhook" . }}
{{- end }}
