# A job of logship, declared with the provider that declares jobs of Logpush. docs/clients.md
terraform {
  required_providers {
    cloudflare = {
      source  = "cloudflare/cloudflare"
      version = ">= 5.22"
    }
  }
}

variable "url" {
  description = "Of the shipper, without a slash at the end."
  default     = "http://localhost:8787"
}

variable "token" {
  description = "Of this service, with logs:read and logs:edit: with less, the plan sees **** and wants to change it back."
  sensitive   = true
}

variable "account_id" {
  description = "ACCOUNT_ID of the shipper."
  default     = "local"
}

variable "destination" {
  description = "Bucket, path and credentials."
  sensitive   = true
}

variable "ownership_challenge" {
  description = "Content of the object that the output `challenge` names; null without REQUIRE_OWNERSHIP_CHALLENGE."
  default     = null
}

provider "cloudflare" {
  base_url  = "${var.url}/client/v4"
  api_token = var.token
}

resource "cloudflare_logpush_ownership_challenge" "logs" {
  account_id       = var.account_id
  destination_conf = var.destination
}

resource "cloudflare_logpush_job" "failures" {
  account_id = var.account_id
  # Without it the provider asks for http_requests, which is no dataset of this service.
  dataset             = "workers_trace_events"
  name                = "failures"
  enabled             = true
  destination_conf    = var.destination
  ownership_challenge = var.ownership_challenge
  filter = jsonencode({
    where = { key = "Outcome", operator = "!eq", value = "ok" }
  })
  max_upload_interval_seconds = 60
  output_options = {
    field_names      = ["EventTimestampMs", "ScriptName", "Outcome", "Exceptions", "Logs"]
    timestamp_format = "rfc3339ms"
    sample_rate      = 1
  }
}

output "challenge" {
  value = cloudflare_logpush_ownership_challenge.logs.filename
}
