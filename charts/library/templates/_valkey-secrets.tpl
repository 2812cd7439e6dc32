{{- define "holdfast.valkeySecrets" -}}
{{- /* The Secrets of the chart's own store. They have no data, so every rendering is the same, and none overwrites what the orchestrator put in. */}}
{{- range include "holdfast.emptySecrets" . | fromYamlArray }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ . }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "holdfast.valkeyLabels" $ | nindent 4 }}
{{- end }}
{{- end }}
