// @ts-check
/**
 * Tens of thousands of round points, painted by the graphics card; without one, on a plain canvas.
 *
 * Own shaders instead of Plotly's: those are put together by `new Function`, which our content
 * security policy rightly forbids; and on their way from one place to another points are moved by the
 * card, so that a frame costs the same however many there are.
 *
 * @typedef {[number, number, number, number]} Rgba each 0 to 1
 * @typedef {object} Look
 * @property {number} t how far the points are from the first places to the second, 0 to 1
 * @property {import("./map_geometry.js").View} view in CSS pixels @property {number} size of a point in CSS pixels
 * @property {Rgba[]} colours one per class @property {number} ratio device pixels per CSS pixel
 * @typedef {object} Painter
 * @property {"webgl" | "canvas"} kind
 * @property {(from: Float32Array, to: Float32Array, classOf: Uint8Array) => void} load
 * @property {(look: Look) => void} paint
 */

const MOST_COLOURS = 16;

const VERTEX = `#version 300 es
precision highp float;
in vec2 before; in vec2 after; in float kind;
uniform float t; uniform vec3 view; uniform vec2 extent; uniform float size; uniform vec4 colours[${MOST_COLOURS}];
out vec4 colour;
void main() {
  vec2 place = mix(before, after, t);
  vec2 screen = vec2(view.y + view.x * place.x, view.z - view.x * place.y);
  gl_Position = vec4(screen.x / extent.x * 2.0 - 1.0, 1.0 - screen.y / extent.y * 2.0, 0.0, 1.0);
  gl_PointSize = size;
  colour = colours[int(kind)];
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 colour; uniform float size; out vec4 seen;
void main() {
  float away = length(gl_PointCoord - 0.5) * size;
  float inside = clamp(size * 0.5 - away, 0.0, 1.0) * colour.a;
  if (inside <= 0.0) discard;
  seen = vec4(colour.rgb * inside, inside);
}`;

/** @param {HTMLCanvasElement} canvas @param {() => void} again called when the card was lost and has come back @returns {Painter} */
export function openPainter(canvas, again) {
  const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
  return gl === null ? plainPainter(canvas) : cardPainter(canvas, gl, again);
}

/** @param {HTMLCanvasElement} canvas @param {WebGL2RenderingContext} gl @param {() => void} again @returns {Painter} */
function cardPainter(canvas, gl, again) {
  let program = programOf(gl);
  /** @type {[Float32Array, Float32Array, Uint8Array] | null} */
  let loaded = null;
  const upload = () => {
    if (loaded === null) return;
    const [from, to, classOf] = loaded;
    fillAttribute(gl, program, "before", 2, gl.FLOAT, from);
    fillAttribute(gl, program, "after", 2, gl.FLOAT, to);
    fillAttribute(gl, program, "kind", 1, gl.UNSIGNED_BYTE, classOf);
  };
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    buffersOf.delete(gl);
    program = programOf(gl);
    upload();
    again();
  });
  return {
    kind: "webgl",
    load(from, to, classOf) {
      loaded = [from, to, classOf];
      upload();
    },
    paint({ t, view, size, colours, ratio }) {
      if (loaded === null || gl.isContextLost()) return;
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.enable(gl.BLEND);
      gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
      const at = (/** @type {string} */ name) => gl.getUniformLocation(program, name);
      gl.uniform1f(at("t"), t);
      gl.uniform3f(at("view"), view.scale * ratio, view.x * ratio, view.y * ratio);
      gl.uniform2f(at("extent"), canvas.width, canvas.height);
      gl.uniform1f(at("size"), size * ratio);
      gl.uniform4fv(at("colours"), new Float32Array(colours.slice(0, MOST_COLOURS).flat()));
      gl.drawArrays(gl.POINTS, 0, loaded[2].length);
    },
  };
}

/** @param {WebGL2RenderingContext} gl */
function programOf(gl) {
  const program = /** @type {WebGLProgram} */ (gl.createProgram());
  for (const [kind, source] of /** @type {const} */ ([[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(`The map's shaders do not fit this graphics card: ${gl.getProgramInfoLog(program)}`);
  gl.useProgram(program);
  return program;
}

/** @type {WeakMap<WebGL2RenderingContext, Map<string, WebGLBuffer>>} */
const buffersOf = new WeakMap();

/** @param {WebGL2RenderingContext} gl @param {WebGLProgram} program @param {string} name @param {number} numbers @param {number} type @param {Float32Array | Uint8Array} values */
function fillAttribute(gl, program, name, numbers, type, values) {
  const buffers = buffersOf.get(gl) ?? new Map();
  buffersOf.set(gl, buffers);
  const buffer = buffers.get(name) ?? /** @type {WebGLBuffer} */ (gl.createBuffer());
  buffers.set(name, buffer);
  const place = gl.getAttribLocation(program, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
  gl.enableVertexAttribArray(place);
  gl.vertexAttribPointer(place, numbers, type, false, 0, 0);
}

/** @param {HTMLCanvasElement} canvas @returns {Painter} */
function plainPainter(canvas) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  let [from, to, classOf] = [new Float32Array(), new Float32Array(), new Uint8Array()];
  return {
    kind: "canvas",
    load(...points) {
      [from, to, classOf] = points;
    },
    paint({ t, view, size, colours, ratio }) {
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      for (const [kind, [red, green, blue, alpha]] of [...colours.entries()].reverse()) {
        context.fillStyle = `rgba(${red * 255}, ${green * 255}, ${blue * 255}, ${alpha})`;
        for (let index = 0; index < classOf.length; index += 1) {
          if (classOf[index] !== kind) continue;
          const [x, y] = [2 * index, 2 * index + 1];
          const screenX = view.x + view.scale * (from[x] + t * (to[x] - from[x]));
          const screenY = view.y - view.scale * (from[y] + t * (to[y] - from[y]));
          if (size < 6) context.fillRect(screenX - size / 2, screenY - size / 2, size, size);
          else {
            context.beginPath();
            context.arc(screenX, screenY, size / 2, 0, 7);
            context.fill();
          }
        }
      }
    },
  };
}
