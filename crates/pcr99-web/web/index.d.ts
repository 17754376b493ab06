// Types of pcr99. Lengths are in target units; a transform maps source to target.

/** Points: triples, or all coordinates one after the other. */
export type Points = Float64Array | Float32Array | ReadonlyArray<number> | ReadonlyArray<ArrayLike<number>>;

/** A file: its name, whose extension names the format, and its content. */
export interface File {
  name: string;
  bytes: ArrayBuffer | Uint8Array;
}

/** A cloud: points, points with normals, or a file (PLY, PCD, LAS, LAZ, E57, XYZ, NPY, OBJ, KITTI). */
export type Cloud = Points | { points: Points; normals?: Points } | File;

/** A known scale, `null` or "unknown", or two bounds. */
export type Scale = number | null | "unknown" | [number, number];

/** Options of both kinds; what is left out has its default. */
export interface CommonOptions {
  /** Scale; default 1. */
  scale?: Scale;
  /** Seconds after which the best transform so far is returned. */
  time_limit?: number;
  /** Seed of the random numbers; default 0. */
  seed?: number;
  /** Maximum number of candidates. */
  candidates?: number;
}

/** Options of `solve`. */
export interface SolveOptions extends CommonOptions {
  /** Inlier threshold; by default it is found from the data. */
  threshold?: number;
  /** Method, such as "default" or "paper". */
  method?: string;
  /** Maximum size of the tables over pairs of matches, in MiB; default 1024. */
  memory_budget_mib?: number;
  /** Maximum number of pairs of matches that are tried in each round. */
  effort?: number;
  /** Accepted probability of having missed a larger consensus; default 1e-6. */
  miss_probability?: number;
  /** Distance up to which neighbouring wrong matches are alike; by default it is measured. */
  correlation_length?: number;
}

/** Options of `solve` with arrays. */
export interface ArrayOptions extends SolveOptions {
  /** Confidence of each match; higher is better. */
  weights?: ArrayLike<number>;
  /** Standard deviation of the noise of each match. */
  standard_deviations?: ArrayLike<number>;
}

/** Options of `refine`. */
export interface RefineOptions extends CommonOptions {
  /** Edge of the voxels; by default it is chosen from the data. */
  voxel?: number;
  /** Refinement; default "point-to-plane". */
  refine?: "point-to-plane" | "point-to-point" | "plane-to-plane" | "none";
  /** Position of the sensor of the source. */
  source_viewpoint?: [number, number, number];
  /** Position of the sensor of the target. */
  target_viewpoint?: [number, number, number];
}

/** Options of `register`. */
export interface RegisterOptions extends RefineOptions {
  /** A pose to refine and judge, a 4×4 matrix; a search runs nevertheless. */
  initial?: number[][];
}

/** A wrong input or option; the message says what, where, and what to do. */
export class Pcr99Error extends Error {}

/** Compiles the module beforehand. Without an argument, `pcr99.wasm` is loaded from beside this file. */
export function load(source?: WebAssembly.Module | BufferSource | Promise<BufferSource>): Promise<unknown>;

/** The transform between matched points: `source[i]` belongs to `target[i]`. */
export function solve(source: Points, target: Points, options?: ArrayOptions): Promise<MatchDocument>;
/** The transform from a file of matches. */
export function solve(matches: File, options?: SolveOptions): Promise<MatchDocument>;

/** The transform between two clouds. */
export function register(source: Cloud, target: Cloud, options?: RegisterOptions): Promise<CloudDocument>;

/** Refines a pose, without a search. */
export function refine(source: Cloud, target: Cloud, initial: number[][], options?: RefineOptions): Promise<CloudDocument>;

/** A file moved by the transform of a result, or by a 4×4 matrix, in its own format with everything else that is in it; formats that are read only become PLY. */
export function moved(file: File, pose: MatchDocument | CloudDocument | number[][]): Promise<{ name: string; bytes: Uint8Array; lost: string[] }>;
