{{- define "holdfast.crds" -}}
{{- if .Values.crds.enabled }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $crd := $.Files.Get $path | fromYaml }}
{{- $_ := set $crd.metadata "labels" (include "holdfast.releaseLabels" $ | fromYaml) }}
{{- if $.Values.crds.keep }}
{{- $_ := set $crd.metadata.annotations "helm.sh/resource-policy" "keep" }}
{{- end }}
---
{{ toYaml $crd }}
{{- end }}
{{- end }}
{{- end }}
