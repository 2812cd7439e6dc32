{{- define "holdfast.valkeySecrets" -}}
{{- /* The Secrets of the chart's own store. They have no data, so every rendering is the same, and none overwrites what the orchestrator wrote.
Running agents trust the certificate of the store. The Secrets are kept, so a new release of the chart continues with the groups of these agents. */}}
{{- range include "holdfast.emptySecrets" . | fromYamlArray }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ . }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "holdfast.valkeyLabels" $ | nindent 4 }}
  annotations:
    helm.sh/resource-policy: keep
{{- end }}
{{- end }}
