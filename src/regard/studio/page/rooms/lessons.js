export default { title: "Lessons", defaults: {}, mount() {} };
