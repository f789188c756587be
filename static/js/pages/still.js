// @ts-check
import { openStillShell } from "../lib/shell.js";

openStillShell();
