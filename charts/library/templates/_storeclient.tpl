{{- /* Arguments with which the orchestrator connects to the store. */}}
{{- define "holdfast.storeArgs" -}}
- --valkey-address={{ include "holdfast.valkeyAddress" . }}
{{- with include "holdfast.valkeyUser" . }}
- --valkey-username={{ . }}
{{- end }}
{{- if include "holdfast.valkeyPasswordSecret" . }}
- --valkey-password-file=/etc/valkey-password/password
{{- end }}
{{- with include "holdfast.emptyPasswordSecret" . }}
- --valkey-password-secret={{ . }}
{{- end }}
{{- if include "holdfast.storeTLS" . }}
- --valkey-tls-ca-file=/etc/valkey-tls/ca.crt
{{- with include "holdfast.emptyTLSSecret" . }}
- --valkey-tls-secret={{ . }}
{{- end }}
{{- with .Values.valkey.tls.serverName }}
- --valkey-tls-server-name={{ . }}
{{- end }}
{{- end }}
{{- if include "holdfast.storeAuth" . }}
- --valkey-acl
- --valkey-password-max-age={{ .Values.valkey.auth.passwordMaxAge }}
{{- end }}
{{- end }}

{{- define "holdfast.storeMounts" -}}
{{- $password := include "holdfast.valkeyPasswordSecret" . }}
{{- $tls := include "holdfast.storeTLS" . }}
{{- if $password }}
- name: valkey-password
  mountPath: /etc/valkey-password
  {{- if not (include "holdfast.emptyPasswordSecret" .) }}
  readOnly: true
  {{- end }}
{{- end }}
{{- if $tls }}
- name: valkey-tls
  mountPath: /etc/valkey-tls
  {{- if not (include "holdfast.emptyTLSSecret" .) }}
  readOnly: true
  {{- end }}
{{- end }}
{{- end }}

{{- /* A Secret that the orchestrator fills is not mounted: the pod would wait for its keys. The orchestrator copies it into memory. */}}
{{- define "holdfast.storeVolumes" -}}
{{- if include "holdfast.emptyPasswordSecret" . }}
- name: valkey-password
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
{{- else if include "holdfast.valkeyPasswordSecret" . }}
- name: valkey-password
  secret:
    secretName: {{ include "holdfast.valkeyPasswordSecret" . }}
    items:
      - key: {{ include "holdfast.valkeyPasswordKey" . }}
        path: password
{{- end }}
{{- if include "holdfast.emptyTLSSecret" . }}
- name: valkey-tls
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
{{- else if include "holdfast.storeTLS" . }}
- name: valkey-tls
  secret:
    secretName: {{ include "holdfast.valkeyTLSSecret" . }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- end }}
