// What the pages use of htm-preact.js, for the type checker.

export function html(strings: TemplateStringsArray, ...values: any[]): any;
export function render(tree: any, place: Element): void;
export function useState<T>(initial: T | (() => T)): [T, (next: T | ((now: T) => T)) => void];
export function useEffect(effect: () => void | (() => void), inputs?: any[]): void;
export function useMemo<T>(make: () => T, inputs: any[]): T;
export function useRef<T>(initial: T | null): { current: T | null };
export function useErrorBoundary(caught?: (error: any) => void): [any, () => void];
