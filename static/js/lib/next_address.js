// @ts-check
/**
 * Where to go after logging in: an address of this site only, whatever the query says.
 * @param {string | null} next @param {string} origin
 */
export function safeNext(next, origin) {
  if (next === null || !next.startsWith("/")) return "/";
  try {
    const target = new URL(next, origin);
    return target.origin === origin && target.pathname !== "/login" ? target.pathname + target.search + target.hash : "/";
  } catch {
    return "/";
  }
}

/** The code in what somebody pasted: a whole link, its fragment, or the bare code. @param {string} text */
export function codeFrom(text) {
  const trimmed = text.trim();
  const match = /(?:^|[#&?])code=([^&\s]+)/.exec(trimmed);
  return match ? decodeURIComponent(match[1]) : trimmed;
}
