#!/usr/bin/env node
import "@authwire/server/bin/authwire.js"
