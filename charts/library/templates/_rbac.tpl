{{- /* A program's roles, generated from the markers in its code, and their bindings. Argument: {"context": ., "program": the file in
files/rbac, "name": of the roles, "account": its service account, "labels": YAML, "granted": a template that omits permissions of a rule}. */}}
{{- define "holdfast.generatedRoles" -}}
{{- range $document := splitList "---\n" (.context.Files.Get (printf "files/rbac/%s.yaml" .program)) }}
{{- $role := fromYaml $document }}
{{- if $role.kind }}
{{- $namespaced := eq $role.kind "Role" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}
metadata:
  name: {{ $.name }}
  {{- if $namespaced }}
  namespace: {{ $.context.Release.Namespace }}
  {{- end }}
  labels:
    {{- $.labels | nindent 4 }}
rules:
  {{- if $.granted }}
  {{- range $rule := $role.rules }}
  {{- with (include $.granted (dict "rule" $rule "context" $.context)) }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- else }}
  {{- toYaml $role.rules | nindent 2 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}Binding
metadata:
  name: {{ $.name }}
  {{- if $namespaced }}
  namespace: {{ $.context.Release.Namespace }}
  {{- end }}
  labels:
    {{- $.labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $role.kind }}
  name: {{ $.name }}
subjects:
  - kind: ServiceAccount
    name: {{ $.account }}
    namespace: {{ $.context.Release.Namespace }}
{{- end }}
{{- end }}
{{- end }}

{{- define "holdfast.managerRoles" -}}
{{- include "holdfast.generatedRoles" (dict "context" . "program" "manager" "name" (printf "%s-manager" (include "holdfast.fullname" .)) "account" (include "holdfast.serviceAccountName" .) "labels" (include "holdfast.labels" .)) }}
{{- end }}

{{- define "holdfast.metricsReader" -}}
{{- if and .Values.metrics.enabled .Values.metrics.secure }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "holdfast.fullname" . }}-metrics-reader
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
rules:
  - nonResourceURLs:
      - /metrics
    verbs:
      - get
{{- end }}
{{- end }}

{{- /* The users' permissions for a kind. Argument: {"context": ., "kind": in the names of the roles, "group", "resource", "subresources": that editors write}. */}}
{{- define "holdfast.userRoles" -}}
{{- $name := printf "%s-%s" (include "holdfast.fullname" .context) .kind }}
{{- if .context.Values.rbac.aggregateClusterRoles }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}-editor
  labels:
    {{- include "holdfast.labels" .context | nindent 4 }}
    rbac.authorization.k8s.io/aggregate-to-admin: "true"
    rbac.authorization.k8s.io/aggregate-to-edit: "true"
rules:
  - apiGroups:
      - {{ .group }}
    resources:
      - {{ .resource }}
      {{- range .subresources }}
      - {{ $.resource }}/{{ . }}
      {{- end }}
    verbs:
      - create
      - delete
      - deletecollection
      - get
      - list
      - patch
      - update
      - watch
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}-viewer
  labels:
    {{- include "holdfast.labels" .context | nindent 4 }}
    rbac.authorization.k8s.io/aggregate-to-view: "true"
rules:
  - apiGroups:
      - {{ .group }}
    resources:
      - {{ .resource }}
      - {{ .resource }}/status
    verbs:
      - get
      - list
      - watch
{{- end }}
{{- end }}
