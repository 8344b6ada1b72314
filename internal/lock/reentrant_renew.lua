-- Gives one hold a whole lease again, or only looks whether it is there. Repeating it is harmless. After holds.lua, or
-- readers.lua.
--
-- KEYS[1]  the holds, as their prelude says
-- ARGV[1]  owner
-- ARGV[2]  lease, milliseconds; 0 to look only
-- ARGV[3]  request
--
-- Returns  1  the request holds the lock, for a lease from now if one was given
--          0  it does not; nothing was changed

local now = clock()
if not holding(KEYS[1], ARGV[1], ARGV[3], now) then
  return 0
end
if ARGV[2] ~= '0' then
  take(KEYS[1], ARGV[1], token_of(KEYS[1]), ARGV[3], now + ARGV[2])
  settle(KEYS[1], now)
end
return 1
