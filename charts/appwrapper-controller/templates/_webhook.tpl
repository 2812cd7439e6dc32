{{- /* The manager and other projects expect names with this prefix. */}}
{{- define "appwrapper-controller.webhookName" -}}
appwrapper
{{- end }}
