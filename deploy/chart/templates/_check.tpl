{{/* What values cannot mean, in words: values.schema.json knows types and names, but can say no reasons. */}}
{{- define "skein.check" -}}
{{- $agent := .Values.agent -}}
{{- $device := $agent.device -}}
{{- $link := $agent.link -}}
{{- $kinds := "auto, auto:57600, serial:/host/dev/ttyACM0:57600, udp-listen:0.0.0.0:14550, udp:HOST:PORT or tcp:HOST:PORT" -}}
{{- if not (regexMatch "^(auto(:[0-9]+)?|serial:/.+:[0-9]+|(udp-listen|udp|tcp):[^/]+:[0-9]+)$" $link) -}}
{{- fail (printf "agent.link: %q is not a link; use %s" $link $kinds) -}}
{{- end -}}
{{- if not (regexMatch "^(https://[^/]+:[0-9]+)?$" $agent.coordinator) -}}
{{- fail (printf "agent.coordinator: %q is not where a coordinator listens; use https://HOST:PORT, or leave it empty" $agent.coordinator) -}}
{{- end -}}
{{- if lt (int $agent.landingTimeoutSeconds) 206 -}}
{{- fail (printf "agent.landingTimeoutSeconds: %v s may end an agent in the air: a landing from 120 m can take 206 s" $agent.landingTimeoutSeconds) -}}
{{- end -}}
{{- range $tag := list .Values.images.tag .Values.images.coordinator.tag .Values.images.agent.tag -}}
{{- if eq "latest" ($tag | default "") -}}
{{- fail "images: the tag latest does not say which version flies; name a version" -}}
{{- end -}}
{{- end -}}
{{- if contains ":" $device.hostPath -}}
{{- fail (printf "agent.device.hostPath: %q has a colon, with which nothing can be mounted into a container; use /dev, and name the port in agent.link" $device.hostPath) -}}
{{- end -}}
{{- if not (regexMatch "^/dev(/[^:,/]+)*$" $device.hostPath) -}}
{{- fail (printf "agent.device.hostPath: %q is more than devices; use /dev, a folder in it, or one device" $device.hostPath) -}}
{{- end -}}
{{- $seen := printf "/host%s" $device.hostPath -}}
{{- if hasPrefix "serial:" $link -}}
{{- if eq $device.access "none" -}}
{{- fail (printf "agent.link is %s, but agent.device.access is none; use plugin, privileged or hostPath" $link) -}}
{{- end -}}
{{- if and (eq $device.access "plugin") (hasPrefix "serial:/host/" $link) -}}
{{- fail (printf "agent.link is %s, but agent.device.access is plugin; name the device as the plugin gives it, such as serial:/dev/ttyACM0:57600" $link) -}}
{{- end -}}
{{- if and (ne $device.access "plugin") (not (regexMatch (printf "^serial:%s[/:]" (regexQuoteMeta $seen)) $link)) -}}
{{- fail (printf "agent.link is %s, but the agent sees the host's %s as %s; write serial:%s" $link $device.hostPath $seen $seen) -}}
{{- end -}}
{{- end -}}
{{- if and (hasPrefix "auto" $link) (has $device.access (list "none" "hostPath")) -}}
{{- fail (printf "agent.link is %s, which looks in the container's own /dev; use agent.device.access plugin or privileged, or name the device" $link) -}}
{{- end -}}
{{- $upload := $agent.upload -}}
{{- if $upload.bucket -}}
{{- if not (regexMatch "^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$" $upload.bucket) -}}
{{- fail (printf "agent.upload.bucket: %q is not the name of a bucket; use 3 to 63 lower-case letters, digits, dots and hyphens" $upload.bucket) -}}
{{- end -}}
{{- if not (regexMatch "^(https?://[^/@?#]+/?)?$" $upload.endpoint) -}}
{{- fail (printf "agent.upload.endpoint: %q is not a store; use https://HOST or https://HOST:PORT, or leave it empty" $upload.endpoint) -}}
{{- end -}}
{{- if not $upload.credentialsSecret -}}
{{- fail "agent.upload.credentialsSecret: the credentials are missing; name a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" -}}
{{- end -}}
{{- if hasPrefix "http://" $upload.endpoint -}}
{{- if not $upload.insecureHttp -}}
{{- fail (printf "agent.upload.endpoint: %q is plain text across a network; use https://, or set agent.upload.insecureHttp if you mean it" $upload.endpoint) -}}
{{- end -}}
{{- else if not $upload.caConfigMap -}}
{{- fail "agent.upload.caConfigMap: the image has no certificate authorities; name a ConfigMap with ca.crt, that of the store" -}}
{{- end -}}
{{- else if $upload.endpoint -}}
{{- fail "agent.upload.endpoint: the bucket is missing; set agent.upload.bucket" -}}
{{- end -}}
{{- $traces := .Values.traces -}}
{{- if not (regexMatch "^(https?://[^/@?#]+:[0-9]+/?)?$" $traces.endpoint) -}}
{{- fail (printf "traces.endpoint: %q is not a collector; use http://HOST:4317 or https://HOST:4317, or leave it empty" $traces.endpoint) -}}
{{- end -}}
{{- if and (hasPrefix "https://" $traces.endpoint) (not $traces.caConfigMap) -}}
{{- fail "traces.caConfigMap: the images have no certificate authorities; name a ConfigMap with ca.crt, that of the collector" -}}
{{- end -}}
{{- if and $traces.caConfigMap (not (hasPrefix "https://" $traces.endpoint)) -}}
{{- fail "traces.endpoint: certificates are for https://; use https://HOST:4317, or leave traces.caConfigMap empty" -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef.name) -}}
{{- fail "tls.certManager.enabled: the issuer is missing; set tls.certManager.issuerRef.name" -}}
{{- end -}}
{{- range $name := list "serviceMonitor" "alerts" "dashboard" -}}
{{- if and (index $.Values.metrics $name).enabled (not $.Values.metrics.enabled) -}}
{{- fail (printf "metrics.%s.enabled: there are no metrics; set metrics.enabled" $name) -}}
{{- end -}}
{{- end -}}
{{- end }}
