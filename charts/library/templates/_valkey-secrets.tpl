{{- define "holdfast.valkeySecrets" -}}
{{- /* The Secrets of the chart's own store. They have no data, so every rendering is the same, and none overwrites what the orchestrator wrote.
Argument: {"context": ., "keep": whether they stay when the release is uninstalled}. */}}
{{- range include "holdfast.emptySecrets" .context | fromYamlArray }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ . }}
  namespace: {{ $.context.Release.Namespace }}
  labels:
    {{- include "holdfast.valkeyLabels" $.context | nindent 4 }}
  {{- if $.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
{{- end }}
{{- end }}
