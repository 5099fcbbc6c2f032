/** Makes calls by `call`, so many at once. */
export async function make(call, calls, atOnce) {
  let left = calls;
  const some = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: Number(atOnce) }, some));
}
