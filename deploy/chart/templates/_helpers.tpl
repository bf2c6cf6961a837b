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

{{/* What nobody gets from any of our containers. */}}
{{- define "skein.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* What values cannot mean, beyond what values.schema.json can say. */}}
{{- define "skein.check" -}}
{{- $agent := .Values.agent -}}
{{- $access := $agent.device.access -}}
{{- $serial := or (hasPrefix "serial:" $agent.link) (hasPrefix "auto" $agent.link) -}}
{{- if and $serial (eq $access "none") -}}
{{- fail (printf "agent.link is %s, but agent.device.access is none: choose plugin, privileged or hostPath" $agent.link) -}}
{{- end -}}
{{- if and (eq $access "plugin") (hasPrefix "serial:/host/" $agent.link) -}}
{{- fail "agent.device.access is plugin: let agent.link name the device as the plugin gives it, without /host, such as serial:/dev/ttyACM0:57600" -}}
{{- end -}}
{{- if and (has $access (list "hostPath" "privileged")) (hasPrefix "serial:" $agent.link) (not (hasPrefix (printf "serial:/host%s" $agent.device.hostPath) $agent.link)) -}}
{{- fail (printf "agent.link is %s, but the agent sees the host's %s as /host%s: write serial:/host%s..." $agent.link $agent.device.hostPath $agent.device.hostPath $agent.device.hostPath) -}}
{{- end -}}
{{- if and (eq $agent.link "auto") (not (has $access (list "plugin"))) -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled needs the issuer: set tls.certManager.issuerRef.name" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.enabled" -}}
{{- end -}}
{{- end }}
