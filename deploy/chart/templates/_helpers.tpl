{{/* The image of a workload. Call with (list $ "coordinator") or (list $ "agent"). */}}
{{- define "skein.image" -}}
{{- $images := (index . 0).Values.images -}}
{{- $image := index $images (index . 1) -}}
{{- $name := $image.name -}}
{{- with $images.registry }}{{ $name = printf "%s/%s" (trimSuffix "/" .) $name }}{{ end -}}
{{- if $image.digest -}}
{{ $name }}@{{ $image.digest }}
{{- else -}}
{{ $name }}:{{ $image.tag | default $images.tag | default (index . 0).Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The port at the end of the agent's link if the link is of this kind, else nothing. Call with (list $ "udp-listen"). */}}
{{- define "skein.linkPort" -}}
{{- $link := (index . 0).Values.agent.link -}}
{{- if hasPrefix (printf "%s:" (index . 1)) $link }}{{ regexFind "[0-9]+$" $link }}{{ end -}}
{{- end }}

{{/* Where a program writes its traces. */}}
{{- define "skein.tracesEnv" -}}
{{- with .Values.traces -}}
# Only takeoffs are traced, and no flight waits for the collector.
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
{{- if .caConfigMap }}
- name: OTEL_EXPORTER_OTLP_CERTIFICATE
  value: /var/run/skein/traces-ca/ca.crt
{{- end }}
{{- end }}
{{- end }}

{{/* The port of the collector of traces, if there is one. */}}
{{- define "skein.tracesPort" -}}
{{- with .Values.traces.endpoint -}}
{{ regexFind "[0-9]+$" (trimSuffix "/" .) }}
{{- end -}}
{{- end }}

{{/* What each of our containers is confined to. */}}
{{- define "skein.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
