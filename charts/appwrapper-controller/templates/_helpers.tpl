{{- /* Values that do not fit together, each with what to do about it. */}}
{{- define "appwrapper-controller.validate" -}}
{{- $v := .Values }}
{{- include "holdfast.validate" . }}
{{- include "holdfast.validateWebhook" . }}
{{- end }}
