{{- /* The manager, and other projects, looks for names that begin with it. */}}
{{- define "appwrapper-controller.webhookName" -}}
appwrapper
{{- end }}
